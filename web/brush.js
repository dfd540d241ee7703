// SPDX-License-Identifier: Apache-2.0
// Below the latency over time, on its axis: how many messages came, and what the slow ones waited for; a choice of time.
const LANES_OF_CULPRITS = 5;

// What each interval has, as bars as high as the rate.
function drawRate(p, all, x, top) {
	const rate = i => (num(i.count) || 0) / (i.to - i.from), most = all.reduce((m, i) => Math.max(m, rate(i)), 0) || 1;
	p.add('text', { class: 'end lane', x: p.left - 5, y: top + 13 }, 'messages');
	for (const i of all)
		p.add('rect', { x: x(i.from), width: Math.max(0.5, x(i.to) - x(i.from) - 0.5), y: top + HEAT_LANE - 1 - rate(i) / most * (HEAT_LANE - 4),
			height: rate(i) / most * (HEAT_LANE - 4), fill: 'var(--c8)', 'data-rate': i.count });
}

function drawHeatLane(p, lane, x, top) {
	p.add('line', { class: 'frame', x1: p.left, x2: p.right, y1: top, y2: top });
	p.add('text', { class: 'end lane', x: p.left - 5, y: top + 13 }, clip(lane.name, Math.floor((p.left - 6) / 6.2)));
	// One path: marks may be thousands.
	const d = lane.marks.map(m => {
		const from = Math.max(p.left, Math.min(p.right - 2, x(m.from)));
		return `M${from.toFixed(1)} ${top + 3}h${Math.max(2, Math.min(p.right, x(m.to)) - from).toFixed(1)}v${HEAT_LANE - 5}H${from.toFixed(1)}z`;
	}).join('');
	p.add('path', { d, fill: colour(lane.colour), 'fill-opacity': 0.75, 'data-lane': lane.name, 'data-marks': lane.marks.length });
}

const within = (mark, from, to) => mark.from < to && mark.to > from;

function laneWords(lane, interval) {
	const here = lane.marks.filter(m => within(m, interval.from, interval.to));
	return here.length ? `${lane.name}: ${duration(here.reduce((n, m) => n + m.ns, 0))} in ${count(here.length)} slow messages` : '';
}

// Waits for a CPU, and the culprits of most time, each when a slow message waited for it.
function lanesOfMessages(messages) {
	const lanes = new Map();
	const put = (name, style, message, ns) => {
		const at = num(message.at_ns), latency = num(message.latency_ns);
		if (at === null || latency === null || !(ns > 0))
			return;
		if (!lanes.has(name))
			lanes.set(name, { name, colour: style.colour, ns: 0, marks: [] });
		lanes.get(name).ns += ns;
		lanes.get(name).marks.push({ from: at - latency, to: at, ns });
	};
	for (const m of messages)
		for (const part of records(m.parts)) {
			if (part.cause === 'cpu-wait')
				put('waits for a CPU', styleOf(part), m, num(part.ns));
			for (const c of part.cause === 'expected' ? [] : records(part.culprits).filter(c => c.comm || c.command))
				put(HOSTLAT_PARTS.get(c.hostlat) || (c.hostlat ? 'another hostlat' : text(c.command || c.comm)), styleOf(part), m, num(c.ns));
		}
	const waits = lanes.get('waits for a CPU');
	lanes.delete('waits for a CPU');
	const most = [...lanes.values()].sort((a, b) => b.ns - a.ns).slice(0, LANES_OF_CULPRITS);
	return waits ? [waits, ...most] : most;
}

// A choice of time by dragging, or from the interval that is marked by Shift and the arrow keys; a click or Escape ends it.
function brushTime(p, surface, x, whole, at, current, brush) {
	const box = p.add('rect', { class: 'brush', y: p.top, height: p.bottom - p.top, 'pointer-events': 'none' });
	const put = () => {
		const b = p.brushed, from = b ? Math.max(p.left, x(b.from)) : 0;
		box.setAttribute('x', from);
		box.setAttribute('width', b ? Math.max(1, Math.min(p.right, x(b.to)) - from) : 0);
		p.node.dataset.brushed = b ? `${Math.round(b.from)} ${Math.round(b.to)}` : '';
	};
	const choose = range => {
		p.brushed = range && { from: Math.max(whole.from, Math.min(range.from, range.to)), to: Math.min(whole.to, Math.max(range.from, range.to)) };
		put();
		brush(p.brushed);
	};
	const place = e => {
		const frame = p.root.getBoundingClientRect();
		return x.back((e.clientX - frame.left) * p.width / frame.width);
	};
	let start = null, anchor = null;
	surface.addEventListener('pointerdown', e => {
		start = { x: e.clientX, at: place(e) };
		surface.setPointerCapture(e.pointerId);
	});
	surface.addEventListener('pointermove', e => {
		if (start && Math.abs(e.clientX - start.x) > 3) {
			p.brushed = { from: Math.min(start.at, place(e)), to: Math.max(start.at, place(e)) };
			put();
		}
	});
	surface.addEventListener('pointerup', e => {
		if (start)
			choose(Math.abs(e.clientX - start.x) > 3 ? { from: start.at, to: place(e) } : null);
		start = null;
	});
	surface.addEventListener('keydown', e => {
		if (e.key === 'Escape')
			choose(null);
		if (e.key === 'Escape' || !e.shiftKey)
			anchor = null;
		else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
			const now = at(current());
			anchor = anchor || now;
			choose({ from: Math.min(anchor.from, now.from), to: Math.max(anchor.to, now.to) });
		}
	});
	put();
}
