// SPDX-License-Identifier: Apache-2.0
// Code shared by all plots: their place, scales, axes, the tip, and when they are drawn.
const plots = [];
const tip = document.getElementById('tip');

function showTip(words, x, y) {
	// Elements outside of an open dialog lie below it.
	const place = document.querySelector('dialog[open]') || document.body;
	if (tip.parentNode !== place)
		place.append(tip);
	tip.textContent = words;
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 6))}px`;
	tip.style.top = `${Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16)}px`;
}

const hideTip = () => { tip.hidden = true; };

function linear(lo, hi, from, to) {
	const span = hi - lo || 1;
	const scale = v => from + (v - lo) / span * (to - from);
	scale.back = p => lo + (p - from) / (to - from) * span;
	scale.ticks = wanted => {
		const rough = span / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
		const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
		const ticks = [];
		for (let v = Math.ceil(lo / step) * step; v <= hi + step / 1e6 && ticks.length < 50; v += step)
			ticks.push(Math.round(v / step) * step);
		return ticks;
	};
	return scale;
}

// Values below the scale, such as 0, stand at its beginning.
function logarithmic(lo, hi, from, to) {
	const a = Math.log10(lo), span = Math.log10(hi) - a || 1;
	const scale = v => from + (v <= lo ? 0 : (Math.log10(v) - a) / span) * (to - from);
	scale.back = p => 10 ** (a + (p - from) / (to - from) * span);
	scale.ticks = wanted => {
		const steps = span <= 1 ? [1, 2, 3, 5, 7] : span * 3 <= wanted ? [1, 2, 5] : [1];
		const skip = steps.length > 1 ? 1 : Math.max(1, Math.ceil(span / Math.max(1, wanted)));
		const ticks = [];
		for (let e = Math.floor(a); e <= Math.ceil(a + span); e++)
			for (const m of steps)
				if ((e - Math.floor(a)) % skip === 0 && m * 10 ** e >= lo * 0.999 && m * 10 ** e <= hi * 1.001)
					ticks.push(m * 10 ** e);
		return ticks;
	};
	return scale;
}

// The decades around positive values, a little wider than they are.
function logRange(values) {
	let lo = Infinity, hi = 0;
	for (const v of values) {
		if (v > 0 && v < lo)
			lo = v;
		if (v > hi)
			hi = v;
	}
	if (!hi)
		return [1, 10];
	return lo * 1.3 >= hi ? [lo / 2, hi * 2] : [lo / 1.1, hi * 1.1];
}

// options: title, name, note, tools, legend, series (a legend that switches), wide, height(width), draw(plot), gutter
class Plot {
	constructor(options) {
		Object.assign(this, { gutter: { left: 56, right: 14, top: 8, bottom: 34 } }, options);
		this.box = el('div', { class: 'plot' });
		this.hidden = new Set();
		if (this.series)
			this.legend = switches(this.series, this.hidden, () => this.update());
		this.node = el('figure', { class: this.wide ? 'wide' : null, 'data-plot': this.name }, [
			el('figcaption', null, [this.title, this.note && el('span', { class: 'note' }, this.note),
				this.tools && el('span', { class: 'tools' }, this.tools)]),
			this.box, this.legend,
		]);
		plots.push(this);
	}

	// Takes its room.
	size(width) {
		this.width = width;
		this.high = this.height ? this.height(width) : 260;
		this.box.style.minHeight = `${this.high}px`;
	}

	// Lays out the frame anew, and has the plot drawn into it.
	update(known) {
		const width = known === undefined ? Math.round(this.box.clientWidth) : known;
		if (!width)
			return;
		this.size(width);
		const g = this.gutter;
		const left = Math.min(g.left, Math.max(62, width * 0.3));
		Object.assign(this, { left: g.left ? left : 0, right: width - g.right, top: g.top, bottom: this.high - g.bottom });
		this.root = svg('svg', {
			viewBox: `0 0 ${width} ${this.high}`, role: this.role || 'group',
			'aria-label': `${this.title}. ${this.note || ''}`,
		});
		this.canvas = null;
		this.box.replaceChildren(this.root);
		this.draw(this);
		this.node.dataset.drawn = this.marks || 0;
	}

	// Below the axes; the lines of the grid are below the marks.
	paint(draw) {
		const scale = Math.ceil(Math.max(devicePixelRatio || 1, printing ? 3 : 1));
		this.canvas = el('canvas', { width: this.width * scale, height: this.high * scale, 'aria-hidden': 'true' });
		const context = this.canvas.getContext('2d');
		context.scale(scale, scale);
		context.strokeStyle = computed('--grid');
		for (const line of this.root.querySelectorAll('line.grid')) {
			context.beginPath();
			context.moveTo(line.getAttribute('x1'), line.getAttribute('y1'));
			context.lineTo(line.getAttribute('x2'), line.getAttribute('y2'));
			context.stroke();
			line.remove();
		}
		draw(context, scale);
		this.box.prepend(this.canvas);
	}

	add(tag, attributes, children) {
		const node = svg(tag, attributes, children);
		this.root.append(node);
		return node;
	}

	xAxis(scale, show, label, grid) {
		const ticks = scale.ticks(Math.max(2, (this.right - this.left) / 78));
		let last = -Infinity;
		for (const v of ticks) {
			const x = scale(v);
			if (x < this.left - 1 || x > this.right + 1)
				continue;
			if (grid !== false)
				this.add('line', { class: 'grid', x1: x, x2: x, y1: this.top, y2: this.bottom });
			if (x - last < 46)
				continue;
			last = x;
			this.add('text', { class: 'tick mid', x, y: this.bottom + 13 }, show(v));
		}
		this.add('text', { class: 'axis end', x: this.right, y: this.bottom + 27 }, label);
		this.frame();
	}

	yAxis(scale, show, label, ticks) {
		for (const v of ticks || scale.ticks((this.bottom - this.top) / 30)) {
			const y = scale(v);
			if (y < this.top - 1 || y > this.bottom + 1)
				continue;
			this.add('line', { class: 'grid', x1: this.left, x2: this.right, y1: y, y2: y });
			this.add('text', { class: 'tick end', x: this.left - 5, y: y + 4 }, show(v));
		}
		if (label)
			this.add('text', { class: 'axis', x: this.left, y: this.bottom + 27 }, label);
	}

	frame() {
		this.add('path', { class: 'frame', d: `M${this.left} ${this.top}V${this.bottom}H${this.right}` });
	}

	// Moves a mark over the plot by pointer and keys: at(x, y) and step(n) give {x, y, words, open}. Returns what takes them.
	follow(at, step, open) {
		const marker = this.add('g');
		const surface = this.add('rect', {
			x: this.left, y: this.top, width: Math.max(0, this.right - this.left),
			height: Math.max(0, this.bottom - this.top), fill: 'transparent', tabindex: 0,
			class: open ? 'mark' : null, role: 'img', 'aria-label': `${this.title}: arrow keys move over it`,
		});
		const put = found => {
			marker.replaceChildren(...(found ? found.marks : []));
			if (!found)
				return hideTip();
			const box = this.root.getBoundingClientRect(), ratio = box.width / this.width;
			showTip(found.words, box.left + found.x * ratio, box.top + found.y * ratio);
			this.current = found;
		};
		const place = event => {
			const box = this.root.getBoundingClientRect(), ratio = this.width / box.width;
			return at((event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio);
		};
		surface.addEventListener('pointermove', e => put(place(e)));
		surface.addEventListener('pointerleave', () => put(null));
		surface.addEventListener('blur', () => put(null));
		surface.addEventListener('click', e => {
			const found = place(e);
			if (found && open)
				open(found);
		});
		surface.addEventListener('keydown', e => {
			const n = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[e.key];
			if (n !== undefined)
				put(step(n));
			else if (e.key === 'Enter' && this.current && open)
				open(this.current);
			else if (e.key === 'Escape')
				put(null);
			else
				return;
			e.preventDefault();
		});
		return surface;
	}
}

let printing = false;

let waiting = [], turn = null;

// Plots outside of the view are drawn one by one, so that the page answers meanwhile.
function drawWaiting() {
	clearTimeout(turn);
	const one = waiting.shift();
	if (one && one.node.isConnected)
		one.update();
	if (waiting.length)
		turn = setTimeout(drawWaiting);
	else
		document.documentElement.dataset.complete = '';
}

// All widths are read before anything is drawn: the browser lays the page out once.
function updateAll() {
	const some = plots.filter(p => p.node.isConnected), widths = some.map(p => Math.round(p.box.clientWidth));
	some.forEach((p, i) => { if (widths[i]) p.size(widths[i]); });
	const inSight = some.map(p => {
		const box = p.node.getBoundingClientRect();
		return printing || (box.top < innerHeight && box.bottom > 0);
	});
	delete document.documentElement.dataset.complete;
	waiting = some.filter((p, i) => !inSight[i]);
	some.forEach((p, i) => inSight[i] && p.update(widths[i]));
	clearTimeout(turn);
	if (printing)
		drawWaiting();
	else
		requestAnimationFrame(() => { turn = setTimeout(drawWaiting); });
}
