// SPDX-License-Identifier: Apache-2.0
// One message: where it was when, and what was done meanwhile; then its parts.
const LANES = ['receive', 'backlog', 'application', 'transmit'];
const SPANS_MAX = 20000;
const LANE_HEIGHT = 120;

const laneOf = item => text(item.lane || item.role || 'application');

// Lanes that occur, the known ones first.
function lanesOf(items) {
	const found = new Set(items.map(laneOf));
	const order = LANES.filter(name => found.has(name));
	return order.concat([...found].filter(name => !order.includes(name)));
}

function timelinePlot(message) {
	const inTime = item => known(item.begin_ns) && known(item.end_ns) && num(item.end_ns) >= num(item.begin_ns);
	const spans = records(message.timeline).filter(inTime);
	const pieces = records(message.pieces).filter(inTime);
	const lanes = lanesOf([...pieces, ...spans]);
	const marked = spans.slice(0, SPANS_MAX);
	const note = [
		'a span is as high as it is long (logarithmic)',
		spans.length > SPANS_MAX ? `${count(spans.length - SPANS_MAX)} later spans are not drawn` : '',
		num(message.timeline_omitted) && Array.isArray(message.timeline) ? `${count(message.timeline_omitted)} later spans were not kept` : '',
		Array.isArray(message.timeline) ? '' : 'no timeline was kept for this message',
	].filter(Boolean).join('; ');
	const plot = new Plot({
		name: 'timeline', title: 'Timeline', note, gutter: { left: 70, right: 16, top: 18, bottom: 36 },
		height: () => 54 + lanes.length * LANE_HEIGHT,
		draw: p => drawTimeline(p, message, lanes, marked, pieces),
	});
	return lanes.length ? plot : null;
}

function drawTimeline(p, message, lanes, spans, pieces) {
	const all = [...spans, ...pieces];
	const begin = Math.min(0, ...all.map(s => num(s.begin_ns)));
	const end = Math.max(num(message.latency_ns) || 0, ...all.map(s => num(s.end_ns)));
	const x = linear(begin, end, p.left, p.right);
	const least = Math.max(1, Math.min(...all.map(s => num(s.end_ns) - num(s.begin_ns)).filter(d => d > 0), end));
	p.xAxis(x, tickTime, 'since the arrival', false);
	lanes.forEach((lane, i) => {
		const low = p.top + (i + 1) * LANE_HEIGHT - 4, top = low - LANE_HEIGHT + 24;
		const y = logarithmic(least / 2, Math.max(least * 2, end - begin), low, top);
		p.add('line', { class: 'frame', x1: p.left, x2: p.right, y1: low, y2: low });
		p.add('text', { class: 'end', x: p.left - 5, y: top - 8 }, clip(lane, 12));
		for (const v of y.ticks(3))
			p.add('text', { class: 'tick end', x: p.left - 4, y: y(v) + 4 }, tickTime(v));
		for (const piece of pieces.filter(s => laneOf(s) === lane))
			drawPiece(p, piece, x, top, low);
		// Long ones first: what is in them is shorter, so that it stays visible.
		const here = spans.filter(s => laneOf(s) === lane)
			.sort((a, b) => (num(b.end_ns) - num(b.begin_ns)) - (num(a.end_ns) - num(a.begin_ns)));
		const drawn = here.map(span => drawSpan(p, span, x, y, low));
		nameSpans(p, drawn.filter(d => d.width > 30 && d.height > 14));
	});
	const marks = new Set([0, num(message.latency_ns), ...pieces.map(s => num(s.begin_ns))]);
	for (const at of marks)
		if (at !== null)
			p.add('line', { class: 'dashed', x1: x(at), x2: x(at), y1: p.top - 6, y2: p.bottom });
	p.add('text', { class: 'tick', x: x(0) + 2, y: p.top - 8 }, 'arrival');
	if (known(message.latency_ns))
		p.add('text', { class: 'tick end', x: x(num(message.latency_ns)), y: p.top - 8 }, 'read');
	p.marks = spans.length + pieces.length;
}

function drawPiece(p, piece, x, top, low) {
	const from = x(num(piece.begin_ns)), to = x(num(piece.end_ns));
	p.add('rect', { x: from, width: Math.max(1, to - from), y: top - 16, height: low - top + 16, fill: 'var(--grid)', 'fill-opacity': 0.6 });
	if (to - from > 50 && known(piece.core))
		p.add('text', { class: 'tick', x: from + 4, y: top - 5 }, `core ${piece.core}`);
}

function spanWords(span) {
	return [`${text(span.what) || text(span.cause) || NA}${span.cause && span.what ? ` (${text(span.cause)})` : ''}`,
		`${duration(num(span.end_ns) - num(span.begin_ns))}, from ${duration(span.begin_ns)} to ${duration(span.end_ns)}`,
		[known(span.core) ? `core ${span.core}` : '', known(span.message) ? `message ${span.message}` : ''].filter(Boolean).join(', ')].filter(Boolean).join('\n');
}

function drawSpan(p, span, x, y, low) {
	const length = num(span.end_ns) - num(span.begin_ns), top = Math.min(low - 3, y(length));
	const from = x(num(span.begin_ns)), width = Math.max(1, x(num(span.end_ns)) - from);
	const fillColour = span.cause ? colour(styleOf(span).colour) : 'var(--c9)';
	p.add('g', {
		class: 'span', tabindex: -1, role: 'img', 'aria-label': spanWords(span),
		pointermove: e => showTip(spanWords(span), e.clientX, e.clientY), pointerleave: hideTip,
	}, svg('rect', { x: from, width, y: top, height: low - top, fill: fillColour, 'fill-opacity': 0.75, stroke: width > 3 ? 'var(--paper)' : null, 'stroke-width': 0.5 }));
	return { words: text(span.what) || text(span.cause), from, top, width, height: low - top };
}

// Names stand in their spans, where no shorter span stands before them.
function nameSpans(p, spans) {
	spans.forEach((s, i) => {
		const words = clip(s.words, Math.floor((s.width - 4) / 6.2)), end = s.from + 3 + 6.2 * words.length;
		const hidden = spans.slice(i + 1).some(o => o.from < end && o.from + o.width > s.from && o.top < s.top + 14);
		if (!hidden)
			p.add('text', { class: 'name', x: s.from + 3, y: s.top + 11 }, words);
	});
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

class MessageDialog {
	constructor() {
		this.node = el('dialog', { 'aria-label': 'One message', close: () => this.closed() });
		this.node.addEventListener('keydown', e => this.key(e));
		this.node.addEventListener('click', e => e.target === this.node && this.node.close());
		document.body.append(this.node);
	}

	key(event) {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!step)
			return;
		this.turn(step);
		event.preventDefault();
	}

	turn(step) {
		const at = this.order.indexOf(this.message) + step;
		if (at >= 0 && at < this.order.length)
			this.show(this.order[at], this.order);
	}

	closed() {
		if (this.node.open) // the event comes later: it may show another one by then
			return;
		hideTip();
		this.plot = null;
		this.node.replaceChildren();
	}

	// `order` is what the arrow keys go through.
	show(message, order) {
		Object.assign(this, { message, order });
		hideTip();
		if (this.plot)
			plots.splice(plots.indexOf(this.plot), 1);
		this.plot = timelinePlot(message);
		const tools = el('span', { class: 'tools' }, [
			el('button', { type: 'button', click: () => this.turn(-1) }, '\u2190 earlier'),
			el('button', { type: 'button', click: () => this.turn(1) }, 'later \u2192'),
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
