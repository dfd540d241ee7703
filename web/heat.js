// SPDX-License-Identifier: Apache-2.0
// Latency over time: how many messages of each interval took how long.
const HEAT_ROWS = 400;
const HEAT_LANE = 17;
const BUCKET_WIDTH = 1.1; // the widest that hostlat prints, with some room

// lanes: {name, colour, marks: [{from, to, words}]} below it, on the same axis; brush(from, to): a choice of time, null: none
function heatPlot(name, intervals, lanes, brush) {
	const all = intervals.map(flatInterval).filter(i => known(i.from_ns) && num(i.to_ns) > num(i.from_ns))
		.map(i => ({ ...i, from: num(i.from_ns), to: num(i.to_ns), cells: list(i.buckets).filter(b => num(object(b).le_ns) > 0 && num(b.count) > 0) }))
		.sort((a, b) => a.from - b.from);
	const cells = all.reduce((n, i) => n + i.cells.length, 0);
	const plot = new Plot({
		name, wide: true, title: 'Latency over time', gutter: { left: 128, right: 14, top: 8, bottom: 34 + HEAT_LANE * (1 + lanes.length) },
		note: [`${count(all.length)} intervals; the stronger, the more messages (logarithmic)`, brush ? 'drag over a time to choose its messages' : ''].filter(Boolean).join('; '),
		series: [{ name: 'median', colour: MEDIAN, shape: 'bar' }, { name: 'p99', colour: TAIL, shape: 'bar' }],
		height: w => Math.min(300, Math.max(220, w * 0.22)) + HEAT_LANE * (1 + lanes.length),
		draw: p => drawHeat(p, all, lanes, brush),
	});
	return cells ? plot : null;
}

// An interval with a distribution in it has that one's fields.
function flatInterval(interval) {
	const latency = isObject(interval.latency) ? interval.latency : interval, at = q => object(records(latency.quantiles).find(x => num(x.q) === q)).ns;
	return { ...interval, count: latency.count, max_ns: latency.max_ns, buckets: latency.buckets, p50_ns: at(0.5), p99_ns: at(0.99) };
}

// The rows of cells: the limits of the buckets themselves, or, if they are many, even steps.
function heatEdges(all, lo, hi) {
	const limits = new Set();
	for (const i of all)
		for (const b of i.cells)
			limits.add(num(b.le_ns));
	if (limits.size <= HEAT_ROWS)
		return [...limits].sort((a, b) => a - b);
	return [...Array(HEAT_ROWS).keys()].map(n => lo * (hi / lo) ** ((n + 1) / HEAT_ROWS));
}

function rowAt(edges, ns) {
	let lo = 0, hi = edges.length - 1;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (edges[mid] < ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

function drawHeat(p, all, lanes, brush) {
	let lo = Infinity, hi = 0;
	for (const i of all)
		for (const b of i.cells) {
			lo = Math.min(lo, num(b.le_ns));
			hi = Math.max(hi, num(b.le_ns));
		}
	lo /= BUCKET_WIDTH;
	const begin = all[0].from, end = Math.max(...all.map(i => i.to));
	// From the first interval on, so that ticks are round.
	const since = linear(0, end - begin, p.left, p.right), x = v => since(v - begin);
	x.back = at => since.back(at) + begin;
	const y = logarithmic(lo, hi, p.bottom, p.top);
	p.yAxis(y, tickTime, null);
	const low = p.bottom;
	paintHeat(p, all, x, y, heatEdges(all, lo, hi));
	heatLine(p, all, x, y, 'p50_ns', 'median', MEDIAN);
	heatLine(p, all, x, y, 'p99_ns', 'p99', TAIL);
	p.frame();
	p.bottom += HEAT_LANE * (1 + lanes.length);
	p.xAxis(since, tickTime, 'time since the first interval', false);
	drawRate(p, all, x, low);
	lanes.forEach((lane, i) => drawHeatLane(p, lane, x, low + HEAT_LANE * (i + 1)));
	let current = -1;
	const put = n => {
		current = Math.max(0, Math.min(all.length - 1, n));
		const i = all[current];
		return {
			x: x((i.from + i.to) / 2), y: p.top + 20,
			words: `from ${duration(i.from - begin)}, ${duration(i.to - i.from)} long\n${count(i.count)} messages\n` +
				[`median ${duration(i.p50_ns)}, p99 ${duration(i.p99_ns)}, longest ${duration(i.max_ns)}`, ...lanes.map(l => laneWords(l, i)).filter(Boolean)].join('\n'),
			marks: [svg('rect', {
				class: 'ring', x: x(i.from), width: Math.max(1, x(i.to) - x(i.from)), y: p.top, height: p.bottom - p.top,
			})],
		};
	};
	const surface = p.follow(px => {
		const at = x.back(px), n = all.findIndex(i => i.to > at);
		return n < 0 ? null : put(n);
	}, n => put(Number.isFinite(n) ? current + n : n < 0 ? 0 : all.length - 1));
	if (brush)
		brushTime(p, surface, x, { from: begin, to: end }, n => all[Math.max(0, Math.min(all.length - 1, n))], () => current, brush);
}

// Intervals that share a column of pixels are added up in it.
function paintHeat(p, all, x, y, edges) {
	const wide = Math.max(1, Math.round(p.right - p.left));
	const columns = Math.min(wide, all.length), rows = edges.length;
	const sums = new Float64Array(columns * rows), from = new Float64Array(columns).fill(Infinity), to = new Float64Array(columns);
	p.marks = 0;
	all.forEach((interval, n) => {
		const c = columns === all.length ? n : Math.min(columns - 1, Math.floor((x(interval.from) - p.left) / wide * columns));
		from[c] = Math.min(from[c], x(interval.from));
		to[c] = Math.max(to[c], x(interval.to));
		for (const b of interval.cells)
			sums[c * rows + rowAt(edges, num(b.le_ns))] += num(b.count);
		p.marks += interval.cells.length;
	});
	const most = Math.log(1 + sums.reduce((a, b) => Math.max(a, b), 1));
	const [cold, hot] = ['--heat0', '--heat1'].map(n => computed(n).split(',').map(Number));
	const shades = [...Array(64).keys()].map(n => cold.map((v, k) => Math.round(v + (hot[k] - v) * n / 63)));
	p.paint((context, scale) => {
		const high = Math.round(p.bottom - p.top) * scale;
		const image = context.createImageData(wide * scale, high);
		const row = pixelRows(p, y, edges, high, scale);
		for (let c = 0; c < columns; c++) {
			const left = Math.round((from[c] - p.left) * scale), right = Math.max(left + 1, Math.round((to[c] - p.left) * scale));
			for (let py = 0; py < high; py++) {
				const n = row[py] < 0 ? 0 : sums[c * rows + row[py]];
				if (n)
					paintLine(image, py, left, Math.min(right, image.width), shades[Math.round(Math.log(1 + n) / most * 63)]);
			}
		}
		// Drawn rather than put, so that the grid shows where there is nothing.
		const sheet = el('canvas', { width: image.width, height: high });
		sheet.getContext('2d').putImageData(image, 0, 0);
		context.drawImage(sheet, p.left, p.top, wide, p.bottom - p.top);
	});
}

function paintLine(image, py, left, right, [red, green, blue]) {
	for (let i = 4 * (py * image.width + left), end = 4 * (py * image.width + right); i < end; i += 4) {
		image.data[i] = red;
		image.data[i + 1] = green;
		image.data[i + 2] = blue;
		image.data[i + 3] = 255;
	}
}

// Which row of cells each line of pixels shows; -1 where there is no bucket.
function pixelRows(p, y, edges, high, scale) {
	const rows = new Int32Array(high).fill(-1);
	for (let r = 0; r < edges.length; r++) {
		const top = Math.round((y(edges[r]) - p.top) * scale);
		const low = Math.round((y(Math.max(edges[r - 1] || 0, edges[r] / BUCKET_WIDTH)) - p.top) * scale);
		rows.fill(r, Math.max(0, Math.min(top, high - 1)), Math.max(top + 1, low));
	}
	return rows;
}

function heatLine(p, all, x, y, field, name, stroke) {
	if (p.hidden.has(name))
		return;
	let path = '', open = false, lastX = -1;
	for (const i of all) {
		const px = x((i.from + i.to) / 2);
		if (!known(i[field])) {
			open = false;
			continue;
		}
		if (open && px - lastX < 0.7)
			continue;
		path += `${open ? 'L' : 'M'}${px.toFixed(1)} ${y(num(i[field])).toFixed(1)}`;
		open = true;
		lastX = px;
	}
	p.add('path', { class: 'halo', d: path });
	p.add('path', { class: 'curve', 'data-line': field, d: path, stroke });
}
