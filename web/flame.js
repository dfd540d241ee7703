// SPDX-License-Identifier: Apache-2.0
// The excess as a flame graph, from the top: cause, who is behind it, and the functions of the kernel that were recorded.
const FLAME_HEIGHT = 22;

const flameNode = (name, ns, cause, words) => ({ name, ns, cause, words, children: [] });

// Functions divide what is charged to `function` and `application`: each path goes below the first of its place that has room.
function placeFunctions(rows, tops) {
	const placed = new Map();
	for (const f of rows) {
		const parent = ['function', 'application'].map(cause => tops.find(t => t.cause.cause === cause && text(t.cause.where) === text(f.where)))
			.find(t => t && (placed.get(t) || 0) + num(f.total_ns) <= t.ns);
		if (!parent)
			continue;
		placed.set(parent, (placed.get(parent) || 0) + num(f.total_ns));
		let at = parent;
		for (const name of (text(f.path) || text(f.function)).split(' > ')) {
			let next = at.functions && at.functions.get(name);
			if (!next) {
				next = flameNode(name, 0, parent.cause, '');
				at.functions = (at.functions || new Map()).set(name, next);
			}
			next.ns += num(f.total_ns);
			at = next;
		}
		at.own = f;
	}
}

// A function's children are those that it called.
function functionsBelow(node) {
	node.children = [...node.functions.values()].sort((a, b) => b.ns - a.ns);
	for (const child of node.children) {
		const own = child.own;
		child.words = `${child.name}: ${duration(child.ns)}${own ? `, in ${count(own.messages)} messages, ${text(own.type).replace('-', ' ')}` +
			`${known(own.usual_ns) ? `, usually ${duration(own.usual_ns)}` : ''}` : ''}`;
		if (child.functions)
			functionsBelow(child);
	}
}

// The tree; null where no function was recorded.
function flameTree(causes, functions) {
	const rows = records(functions).filter(f => num(f.total_ns) > 0), some = causes.filter(c => num(c.total_ns) > 0);
	if (!rows.length || !some.length)
		return null;
	const tops = some.map(c => flameNode(causeName(c), num(c.total_ns), c, `${causeName(c)}: ${duration(c.total_ns)} in ${count(c.messages)} messages`)).sort((a, b) => b.ns - a.ns);
	placeFunctions(rows, tops);
	for (const top of tops) {
		let room = top.ns;
		if (top.functions)
			functionsBelow(top);
		else
			for (const c of records(top.cause.culprits).filter(c => num(c.ns) > 0)) {
				top.children.push(flameNode(culpritName(c), Math.min(num(c.ns), room), top.cause, culpritTip(top.cause, c)));
				room -= Math.min(num(c.ns), room);
			}
	}
	const all = tops.reduce((n, t) => n + t.ns, 0);
	return { ...flameNode('all extra time', all, null, `all extra time: ${duration(all)}`), children: tops };
}

const flameDepth = node => 1 + Math.max(0, ...node.children.map(flameDepth));

function flamePath(root, node) {
	if (root === node)
		return [root];
	for (const child of root.children) {
		const below = flamePath(child, node);
		if (below)
			return [root, ...below];
	}
	return null;
}

// The outermost nodes with these words; what is below one of them is counted in it.
const flameFound = (node, words) => node.name.toLowerCase().includes(words) ? node.ns : node.children.reduce((n, c) => n + flameFound(c, words), 0);

// Cells of what is shown: those above the zoomed one are as wide as the plot, and lead back.
function flameCells(root, zoomed) {
	const cells = [], path = flamePath(root, zoomed);
	path.slice(0, -1).forEach((node, depth) => cells.push({ node, depth, from: 0, to: 1, above: true }));
	const add = (node, depth, from, to) => {
		cells.push({ node, depth, from, to });
		let at = from;
		for (const child of node.children) {
			const end = at + (to - from) * child.ns / node.ns;
			add(child, depth + 1, at, end);
			at = end;
		}
	};
	add(zoomed, path.length - 1, 0, 1);
	return cells;
}

// options: name, title, causes, functions
function flamePlot(options) {
	const root = flameTree(options.causes, options.functions);
	if (!root)
		return null;
	let zoomed = root, words = '';
	const status = el('span', { class: 'quiet', role: 'status' });
	const refresh = () => {
		status.textContent = words ? `${percent(flameFound(zoomed, words) / zoomed.ns)} of ${zoomed.name}` : zoomed === root ? '' : `zoomed to ${zoomed.name}`;
		plot.update();
	};
	const search = el('input', { type: 'search', class: 'filter', placeholder: 'find a cause, command or function', 'aria-label': 'Search for a cause, a command or a function',
		input: () => { words = search.value.trim().toLowerCase(); refresh(); } });
	const zoom = (node, depth) => {
		zoomed = node;
		refresh();
		// The keyboard stays on the cell.
		const cell = plot.root.querySelector(`[data-depth="${depth}"]`);
		if (cell)
			cell.focus();
		hideTip();
	};
	const depth = flameDepth(root);
	const plot = new Plot({
		name: options.name, title: options.title, wide: true, tools: [status, search, el('button', { type: 'button', click: () => zoom(root, 0) }, 'all')],
		note: 'cause, who is behind it or which functions of the kernel, each in its caller; a click zooms',
		gutter: { left: 0, right: 0, top: 4, bottom: 4 }, height: () => 10 + depth * (FLAME_HEIGHT + 1),
		draw: p => drawFlame(p, root, flameCells(root, zoomed), words, zoom),
	});
	return plot;
}

function drawFlame(p, root, cells, words, zoom) {
	const x = linear(0, 1, p.left, p.right);
	const shownOnes = cells.filter(c => x(c.to) - x(c.from) >= 0.3);
	shownOnes.forEach((c, i) => {
		const y = p.top + c.depth * (FLAME_HEIGHT + 1), width = Math.max(0.5, x(c.to) - x(c.from) - 0.6), room = Math.floor((width - 8) / 6.4);
		const found = words && c.node.name.toLowerCase().includes(words);
		const said = `${c.node.words}\n${percent(c.node.ns / root.ns)} of the extra time`, act = () => zoom(c.node, c.depth);
		p.add('g', {
			class: `row mark cell${found ? ' on' : ''}`, tabindex: i ? -1 : 0, role: 'button', 'aria-label': said, 'data-name': c.node.name, 'data-depth': c.depth,
			'data-ns': c.node.ns, opacity: words && !found ? 0.35 : null, click: act, blur: hideTip,
			pointermove: e => showTip(said, e.clientX, e.clientY), pointerleave: hideTip,
			keydown: e => e.key === 'Escape' && cells.some(o => o.above) ? (zoom(root, 0), e.preventDefault()) : moveRow(e, act),
			focus: e => {
				const box = e.currentTarget.getBoundingClientRect();
				showTip(said, box.left, box.bottom - 12);
			},
		}, [
			svg('rect', { class: 'piece', x: x(c.from), y, width, height: FLAME_HEIGHT, fill: c.node.cause ? colour(styleOf(c.node.cause).colour) : 'var(--line)',
				'fill-opacity': c.depth === 1 ? 0.55 : c.depth ? Math.max(0.18, 0.4 - 0.05 * c.depth) : 1 }),
			room > 3 ? svg('text', { x: x(c.from) + 4, y: y + 15 }, clip(c.node.name, room)) : null,
		]);
	});
	p.marks = shownOnes.length;
}
