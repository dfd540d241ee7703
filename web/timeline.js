// SPDX-License-Identifier: Apache-2.0
// One message: where it was when, and what was done meanwhile; then its parts.
const LANES = ['receive', 'backlog', 'application', 'transmit'];
const SPANS_MAX = 20000;
const LANE_HEIGHT = 30;
const CULPRIT_LANES = 6;
const ZOOM = 1.5;

const laneOf = item => text(item.lane || item.role || 'application');
const spanLength = s => num(s.end_ns) - num(s.begin_ns);

// Lanes that occur: places, the known ones first; the CPUs; and who held the message up, for longest first.
function lanesOf(items, spans) {
	const found = new Set(items.map(laneOf)), order = LANES.filter(name => found.has(name));
	const places = order.concat([...found].filter(name => !order.includes(name)));
	const cores = [...new Set(spans.map(s => num(s.core)).filter(c => c !== null))].sort((a, b) => a - b), sums = new Map();
	for (const s of spans.filter(s => s.what))
		sums.set(text(s.what), (sums.get(text(s.what)) || 0) + spanLength(s));
	const names = [...sums].sort((a, b) => b[1] - a[1]).slice(0, CULPRIT_LANES).map(([name]) => name);
	return [
		...places.map(name => ({ name, kind: 'place', has: s => laneOf(s) === name })),
		...cores.map(core => ({ name: `CPU ${core}`, kind: 'core', has: s => num(s.core) === core })),
		...names.map(name => ({ name, kind: 'culprit', has: s => text(s.what) === name })),
	];
}

const inTime = item => known(item.begin_ns) && known(item.end_ns) && num(item.end_ns) >= num(item.begin_ns);
const mergedIn = spans => spans.reduce((n, s) => n + (num(s.merged) || 0), 0);

function timelinePlot(message) {
	const spans = records(message.timeline).filter(inTime), pieces = records(message.pieces).filter(inTime);
	const lanes = lanesOf([...pieces, ...spans], spans), marked = spans.slice(0, SPANS_MAX), merged = mergedIn(spans);
	const ends = [...spans, ...pieces].map(s => num(s.end_ns));
	const whole = { from: Math.min(0, ...[...spans, ...pieces].map(s => num(s.begin_ns))), to: Math.max(num(message.latency_ns) || 0, 1, ...ends) };
	const note = [
		'w and s zoom, a and d move; the wheel zooms, dragging moves, a double click shows all',
		merged ? `${count(merged)} of the shortest slices are drawn as part of a longer one beside them` : '',
		spans.length > SPANS_MAX ? `${count(spans.length - SPANS_MAX)} later spans are not drawn` : '',
		Array.isArray(message.timeline) ? '' : 'no timeline was kept for this message',
	].filter(Boolean).join('; ');
	const plot = new Plot({
		name: 'timeline', title: 'Timeline', note, gutter: { left: 128, right: 16, top: 18, bottom: 36 },
		height: () => 54 + lanes.length * LANE_HEIGHT,
		draw: p => drawTimeline(p, message, lanes, marked, pieces),
	});
	plot.view = { ...whole };
	plot.whole = whole;
	steerTimeline(plot);
	return lanes.length ? plot : null;
}

// ---- zoom and pan ----

function viewTimeline(plot, from, to) {
	const all = plot.whole, length = Math.min(all.to - all.from, Math.max(20, to - from));
	const begin = Math.max(all.from, Math.min(all.to - length, from));
	plot.view = { from: begin, to: begin + length };
	plot.update();
}

// Zooms by a factor around a place (0 to 1) of what is in view.
function zoomTimeline(plot, factor, place) {
	const { from, to } = plot.view, length = (to - from) * factor;
	viewTimeline(plot, from + (to - from - length) * place, from + (to - from - length) * place + length);
}

const panTimeline = (plot, share) => {
	const by = (plot.view.to - plot.view.from) * share;
	viewTimeline(plot, plot.view.from + by, plot.view.to + by);
};

const TIMELINE_KEYS = {
	w: p => zoomTimeline(p, 1 / ZOOM, p.place), s: p => zoomTimeline(p, ZOOM, p.place), a: p => panTimeline(p, -0.2),
	d: p => panTimeline(p, 0.2), 0: p => viewTimeline(p, p.whole.from, p.whole.to),
};

function steerTimeline(plot) {
	const at = e => {
		const box = plot.box.getBoundingClientRect(), ratio = plot.width / (box.width || 1);
		return Math.max(0, Math.min(1, ((e.clientX - box.left) * ratio - plot.left) / (plot.right - plot.left || 1)));
	};
	let drag = null;
	plot.place = 0.5;
	plot.box.addEventListener('wheel', e => {
		zoomTimeline(plot, e.deltaY < 0 ? 1 / ZOOM : ZOOM, at(e));
		e.preventDefault();
	}, { passive: false });
	plot.box.addEventListener('pointerdown', e => {
		drag = { place: at(e), view: plot.view };
		plot.box.setPointerCapture(e.pointerId);
	});
	plot.box.addEventListener('pointermove', e => {
		plot.place = at(e);
		if (!drag)
			return;
		const by = (drag.place - at(e)) * (drag.view.to - drag.view.from);
		hideTip();
		viewTimeline(plot, drag.view.from + by, drag.view.to + by);
	});
	for (const end of ['pointerup', 'pointercancel'])
		plot.box.addEventListener(end, () => { drag = null; });
	plot.box.addEventListener('dblclick', () => viewTimeline(plot, plot.whole.from, plot.whole.to));
}

// ---- drawing ----

// Times on the axis of a part have as many digits as they need to differ.
function partTime(ticks) {
	const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1, most = Math.max(...ticks.map(Math.abs), 1);
	const [size, unit] = UNITS.find(([s]) => most >= s) || [1, 'ns'];
	const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
	return v => `${(v / size).toFixed(Math.min(9, places))}\u00a0${unit}`;
}

function drawTimeline(p, message, lanes, spans, pieces) {
	const x = linear(p.view.from, p.view.to, p.left, p.right);
	x.at = v => Math.max(p.left, Math.min(p.right, x(v)));
	p.xAxis(x, partTime(x.ticks(Math.max(2, (p.right - p.left) / 78))), 'since the arrival', false);
	lanes.forEach((lane, i) => {
		const top = p.top + i * LANE_HEIGHT;
		p.add('line', { class: 'frame', x1: 0, x2: p.right, y1: top + LANE_HEIGHT, y2: top + LANE_HEIGHT });
		p.add('text', { class: 'end lane', x: p.left - 6, y: top + 19 }, clip(lane.name, Math.floor((p.left - 6) / 6.2)));
		for (const piece of lane.kind === 'place' ? pieces.filter(s => lane.has(s)) : [])
			drawPiece(p, piece, x, top);
		for (const span of spans.filter(s => lane.has(s)))
			drawSpan(p, span, x, top, lane);
	});
	for (const [at, words, end] of [[0, 'arrival'], [num(message.latency_ns), 'read', 'end']])
		if (at !== null && at >= p.view.from && at <= p.view.to) {
			p.add('line', { class: 'dashed', x1: x(at), x2: x(at), y1: p.top - 6, y2: p.bottom });
			p.add('text', { class: end ? 'axis end' : 'axis', x: x(at) + (end ? 0 : 2), y: p.top - 8 }, words);
		}
	p.marks = spans.length + pieces.length;
}

function drawPiece(p, piece, x, top) {
	const from = x.at(num(piece.begin_ns)), to = x.at(num(piece.end_ns));
	p.add('rect', { x: from, width: Math.max(0, to - from), y: top + 1, height: LANE_HEIGHT - 1, fill: 'var(--grid)', 'fill-opacity': 0.6 });
}

const spanName = span => text(span.what) || text(span.cause) || NA;

function spanWords(span) {
	return [`${spanName(span)}${span.cause && span.what ? ` (${text(span.cause)})` : ''}`,
		`${duration(spanLength(span))}, from ${duration(span.begin_ns)} to ${duration(span.end_ns)}`,
		[known(span.core) ? `core ${span.core}` : '', known(span.message) ? `message ${span.message}` : ''].filter(Boolean).join(', '),
		num(span.merged) ? `and ${count(span.merged)} shorter slices beside it` : ''].filter(Boolean).join('\n');
}

// A span is in the lane of its place, and once more in those of its CPU and of who had it.
function drawSpan(p, span, x, top, lane) {
	if (num(span.end_ns) < p.view.from || num(span.begin_ns) > p.view.to)
		return;
	const from = x.at(num(span.begin_ns)), width = Math.max(1, x.at(num(span.end_ns)) - from);
	const words = lane.kind === 'culprit' ? text(span.cause) : spanName(span), room = Math.floor((width - 6) / 6.4);
	p.add('g', {
		class: lane.kind === 'place' ? 'span' : 'span again', tabindex: -1, role: 'img', 'aria-label': spanWords(span),
		pointermove: e => showTip(spanWords(span), e.clientX, e.clientY), pointerleave: hideTip,
	}, [
		svg('rect', { x: from, width, y: top + 4, height: LANE_HEIGHT - 8, fill: span.cause ? colour(styleOf(span).colour) : 'var(--c9)', 'fill-opacity': 0.7,
			stroke: width > 3 ? 'var(--paper)' : null, 'stroke-width': 0.5 }),
		room > 2 ? svg('text', { class: 'name', x: from + 3, y: top + 19 }, clip(words, room)) : null,
	]);
}

// ---- as a trace of Chrome, which Perfetto reads, too ----

// Messages are processes, lanes their threads; times in microseconds from the first message on.
function traceOf(messages) {
	const starts = messages.map(m => (num(m.at_ns) || 0) - (num(m.latency_ns) || 0)), first = Math.min(...starts), events = [];
	messages.forEach((m, i) => {
		const pid = i + 1, spans = records(m.timeline).filter(inTime), lanes = lanesOf(spans, spans), at = starts[i] - first;
		events.push({ ph: 'M', name: 'process_name', pid, args: { name: `message ${text(m.id)}, ${duration(m.latency_ns)}` } });
		lanes.forEach((lane, tid) => {
			events.push({ ph: 'M', name: 'thread_name', pid, tid: tid + 1, args: { name: lane.name } });
			for (const s of spans.filter(s => lane.has(s)))
				events.push({ ph: 'X', name: spanName(s), cat: text(s.cause) || 'expected', pid, tid: tid + 1, ts: (at + num(s.begin_ns)) / 1000,
					dur: spanLength(s) / 1000, args: { cause: s.cause, what: s.what, core: s.core, message: s.message, merged: s.merged } });
		});
	});
	return { displayTimeUnit: 'ns', traceEvents: events };
}

function saveTrace(messages, name) {
	const address = URL.createObjectURL(new Blob([JSON.stringify(traceOf(messages))], { type: 'application/json' }));
	el('a', { href: address, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const PART_COLUMNS = [
	{ name: 'cause', title: 'part', value: r => causeName(r), draw: r => [legendMark(styleOf(r)), causeName(r)] },
	['ns', 'time'], {
		name: 'culprits', title: 'culprits', value: r => culprits(r.culprits, 8), show: (v, r) => culprits(r.culprits, 8),
	},
];

const legendMark = style => el('span', { class: 'legend', style: { display: 'inline', margin: '0' } }, swatch(style));

// Whether the parts are all of the latency, as they must be.
function partsSum(message) {
	const parts = records(message.parts);
	if (!parts.length || !parts.every(p => known(p.ns)) || !known(message.latency_ns))
		return el('p', { class: 'quiet' }, 'The parts of this message are not known.');
	const sum = parts.reduce((n, p) => n + num(p.ns), 0), off = sum - num(message.latency_ns);
	return off ? el('p', { class: 'bad' }, `The parts make ${duration(sum)}, ${signed(off, duration)} against the latency: this result is wrong.`) :
		el('p', { class: 'quiet' }, `The parts make ${duration(sum)}, the latency, to the nanosecond.`);
}

// A place in the page that can be sent to somebody; it does not scroll.
function setHash(name) {
	try {
		history.replaceState(null, '', `${location.href.split('#')[0]}${name ? `#${encodeURI(name)}` : ''}`);
	} catch {
		// Some browsers refuse it for files: then the address stays as it is.
	}
}

class MessageDialog {
	constructor() {
		this.node = el('dialog', { 'aria-label': 'One message', close: () => this.closed() });
		this.node.addEventListener('keydown', e => this.key(e));
		this.node.addEventListener('click', e => e.target === this.node && this.node.close());
		document.body.append(this.node);
	}

	key(event) {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], steer = this.plot && !event.ctrlKey && !event.metaKey && TIMELINE_KEYS[event.key];
		if (step)
			this.turn(step);
		else if (steer)
			steer(this.plot);
		else
			return;
		event.preventDefault();
	}

	turn(step) {
		const at = this.order.indexOf(this.message) + step;
		if (at >= 0 && at < this.order.length)
			this.show(this.order[at], this.order, this.place);
	}

	closed() {
		if (this.node.open) // the event comes later: it may show another one by then
			return;
		hideTip();
		setHash('');
		this.plot = null;
		this.node.replaceChildren();
	}

	// `order` is what the arrow keys go through; `place` names the diagnosis in the page's address.
	show(message, order, place) {
		Object.assign(this, { message, order, place });
		setHash(`${place}/${text(message.id)}`);
		hideTip();
		if (this.plot)
			plots.splice(plots.indexOf(this.plot), 1);
		this.plot = timelinePlot(message);
		const tools = el('span', { class: 'tools' }, [
			el('button', { type: 'button', click: () => this.turn(-1) }, '\u2190 earlier'),
			el('button', { type: 'button', click: () => this.turn(1) }, 'later \u2192'),
			records(message.timeline).length ? el('button', { type: 'button', class: 'trace', click: () => saveTrace([message], `message-${text(message.id)}.json`) },
				'save as Chrome trace') : null,
			el('button', { type: 'button', click: () => this.node.close() }, 'close'),
		]);
		this.node.replaceChildren(
			el('h2', null, [`Message ${text(message.id)}`, el('small', null, who(message)), tools]),
			facts([
				['latency', message.latency_ns, undefined, null, 'latency_ns'],
				['above the reference', message.deviation_ns, undefined, null, 'deviation_ns'],
				['coverage', message.coverage, percent(message.coverage), null, 'coverage'],
				['size', message.bytes, known(message.bytes) ? `${count(message.bytes)} bytes` : NA],
				['from', message.remote], ['to', message.local],
			]),
			this.plot ? this.plot.node : el('p', { class: 'quiet' }, 'Neither a timeline nor its pieces were kept for this message.'),
			el('h3', null, 'Parts'), partsSum(message),
			table(records(message.parts), PART_COLUMNS, { name: 'parts' }),
		);
		this.node.dataset.message = text(message.id);
		if (!this.node.open)
			this.node.showModal();
		if (this.plot)
			this.plot.update();
	}
}
