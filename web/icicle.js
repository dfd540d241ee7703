// SPDX-License-Identifier: Apache-2.0
// The excess as one bar: causes above, the commands behind each of them below it.
const CELL_HEIGHT = 26;

// Cells of both rows: {depth, from, to, words, name, cause}; rest of a cause that nobody is known for stays empty.
function barCells(causes) {
	const total = causes.reduce((n, c) => n + Math.max(0, num(c.total_ns) || 0), 0), cells = [];
	let at = 0;
	for (const c of causes.filter(c => num(c.total_ns) > 0)) {
		const share = num(c.total_ns) / total;
		cells.push({ depth: 0, cause: c, from: at, to: at + share, name: causeName(c),
			words: `${causeName(c)}: ${percent(share)} of the excess, ${duration(c.total_ns)} in ${count(c.messages)} messages` });
		let below = at;
		for (const who of records(c.culprits).filter(x => num(x.ns) > 0)) {
			const to = Math.min(at + share, below + num(who.ns) / total);
			cells.push({ depth: 1, cause: c, from: below, to, name: culpritName(who), words: culpritTip(c, who) });
			below = to;
		}
		at += share;
	}
	return cells;
}

const culpritName = c => who(c);
const culpritTip = (cause, c) => [`${causeName(cause)} by ${who(c)}`, `${duration(c.ns)} in ${count(c.messages)} messages` +
	(known(c.median_ns) ? `, ${duration(c.median_ns)} at the median` : ''),
	list(c.pids).length ? `pids ${list(c.pids).slice(0, 12).map(text).join(', ')}${list(c.pids).length > 12 ? ', ...' : ''}` : ''].filter(Boolean).join('\n');

const PLACE_WORDS = { application: '(A) on the application\u2019s core', receive: '(R) on the receiving core', transmit: '(T) where it is sent' };
const places = causes => Object.keys(PLACE_WORDS).filter(w => causes.some(c => c.where === w)).map(w => PLACE_WORDS[w]).join(', ');

// options: name, title, causes, on(cause), open(cause)
function causeBar(options) {
	const causes = [...options.causes].sort((a, b) => (num(b.total_ns) || 0) - (num(a.total_ns) || 0)), cells = barCells(causes);
	const deep = cells.some(c => c.depth) ? 2 : 1;
	return cells.length ? new Plot({
		name: options.name, title: options.title, wide: true,
		note: [deep > 1 ? 'causes above, who was behind them below' : '', places(causes)].filter(Boolean).join('; '),
		legend: legend(causes.filter(c => num(c.total_ns) > 0 && styleOf(c).colour < 8).map(c => ({ name: causeName(c), ...styleOf(c), shape: 'square' })), true),
		gutter: { left: 0, right: 0, top: 4, bottom: 4 }, height: () => 10 + deep * (CELL_HEIGHT + 2),
		draw: p => drawCells(p, cells, options),
	}) : null;
}

function drawCells(p, cells, options) {
	const x = linear(0, 1, p.left, p.right);
	cells.forEach((c, i) => {
		const y = p.top + c.depth * (CELL_HEIGHT + 2), width = Math.max(0.5, x(c.to) - x(c.from) - 1);
		const room = Math.floor((width - 8) / 6.4), words = `${c.name} ${percent(c.to - c.from)}`;
		const act = () => options.open(c.cause);
		p.add('g', {
			class: `row mark cell${options.on(c.cause) ? ' on' : ''}`, tabindex: i ? -1 : 0, role: 'button', 'aria-label': c.words,
			'data-key': causeKey(c.cause), 'data-depth': c.depth, 'data-share': c.to - c.from, click: act, blur: hideTip,
			pointermove: e => showTip(c.words, e.clientX, e.clientY), pointerleave: hideTip, keydown: e => moveRow(e, act),
			focus: e => {
				const box = e.currentTarget.getBoundingClientRect();
				showTip(c.words, box.left, box.bottom - 12);
			},
		}, [
			svg('rect', { class: 'piece', x: x(c.from), y, width, height: CELL_HEIGHT, fill: colour(styleOf(c.cause).colour), 'fill-opacity': c.depth ? 0.3 : 0.55 }),
			room > 3 ? svg('text', { x: x(c.from) + 4, y: y + 17 }, clip(words, room)) : null,
		]);
	});
	p.marks = cells.length;
}
