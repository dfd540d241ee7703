// SPDX-License-Identifier: Apache-2.0
// Two distributions, one over the other, and their difference; both with the interval of the difference.
const SIDE_A = { name: 'A', colour: 'var(--p4)', dash: true, field: 'a_ns' }, SIDE_B = { name: 'B', colour: 'var(--p2)', field: 'b_ns' };
const BAND = { name: 'where B may be, by the interval of the difference', colour: 'var(--p2)' };

const curveWords = r => `${quantile(r.q)}: A ${duration(r.a_ns)}, B ${duration(r.b_ns)}\nB \u2212 A ${signed(r.difference_ns, duration)}` +
	(known(r.lo_ns) ? ` [${signed(r.lo_ns, duration)}, ${signed(r.hi_ns, duration)}]` : ', no interval');

// Neighbouring rows that have an interval: each run of them is a band.
function bandsOf(rows) {
	const bands = [[]];
	for (const r of rows)
		known(r.lo_ns) && known(r.hi_ns) ? bands[bands.length - 1].push(r) : bands[bands.length - 1].length && bands.push([]);
	return bands.filter(b => b.length);
}

// The outline between two edges; of a single row a short line.
function bandOutline(band, lower, upper, vertical) {
	const point = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
	const edge = band.length > 1 ? f => band.map(f) : f => [-2, 2].map(d => { const [x, y] = f(band[0]); return vertical ? [x + d, y] : [x, y + d]; });
	return `M${[...edge(upper), ...edge(lower).reverse()].map(point).join('L')}Z`;
}

function lineThrough(points) {
	return points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}

// Follows the rows by pointer and keys: `place` is a row's place along `axis`.
function followRows(p, rows, place, axis) {
	let at = 0;
	const put = n => {
		at = Math.max(0, Math.min(rows.length - 1, n));
		const v = place(rows[at]), line = axis === 'x' ? { x1: v, x2: v, y1: p.top, y2: p.bottom } : { x1: p.left, x2: p.right, y1: v, y2: v };
		return { x: axis === 'x' ? v : p.left + 30, y: axis === 'x' ? p.top + 20 : v, words: curveWords(rows[at]), marks: [svg('line', { class: 'cross', ...line })] };
	};
	const nearest = v => rows.reduce((best, r, i) => Math.abs(place(r) - v) < Math.abs(place(rows[best]) - v) ? i : best, 0);
	p.follow((x, y) => put(nearest(axis === 'x' ? x : y)), n => put(Number.isFinite(n) ? at + n : n < 0 ? 0 : rows.length - 1));
}

function drawOverlaid(p, rows) {
	const [lo, hi] = logRange(rows.flatMap(r => [num(r.a_ns), num(r.b_ns)]));
	const x = logarithmic(lo, hi, p.left, p.right), y = logarithmic(1 - num(rows[rows.length - 1].q), 1, p.bottom, p.top);
	const at = r => y(1 - num(r.q)), inside = v => x(Math.max(lo, Math.min(hi, v)));
	p.yAxis(y, v => v === 1 ? 'all' : quantile(1 - v), 'share that takes longer', TAILS.filter(t => 1 - t <= num(rows[rows.length - 1].q)));
	p.xAxis(x, tickTime, 'latency');
	for (const band of p.hidden.has(BAND.name) ? [] : bandsOf(rows))
		p.add('path', { class: 'confidence', fill: BAND.colour, 'fill-opacity': 0.2,
			d: bandOutline(band, r => [inside(num(r.a_ns) + num(r.lo_ns)), at(r)], r => [inside(num(r.a_ns) + num(r.hi_ns)), at(r)], false) });
	for (const side of [SIDE_A, SIDE_B].filter(s => !p.hidden.has(s.name)))
		p.add('path', { class: 'curve', 'data-side': side.name, stroke: side.colour, 'stroke-dasharray': side.dash ? '5 3' : null,
			d: lineThrough(rows.map(r => [x(num(r[side.field])), at(r)])) });
	p.marks = rows.length;
	followRows(p, rows, at, 'y');
}

// The difference in percent of the value in A, so that all percentiles have one axis.
const relative = (r, v) => num(v) / num(r.a_ns);
const change = v => signed(v, percent);

function drawChange(p, rows) {
	const shownOnes = rows.flatMap(r => [r.difference_ns, r.lo_ns, r.hi_ns].filter(known).map(v => relative(r, v)));
	const least = Math.min(0, ...shownOnes), most = Math.max(0, ...shownOnes), room = (most - least) * 0.06 || 0.05;
	const last = 1 - num(rows[rows.length - 1].q);
	const x = logarithmic(last, 1, p.right, p.left), y = linear(least - room, most + room, p.bottom, p.top);
	const at = r => x(1 - num(r.q));
	p.yAxis(y, change, 'B \u2212 A, of A');
	for (const t of TAILS.filter(t => t >= last)) {
		p.add('line', { class: 'grid', x1: x(t), x2: x(t), y1: p.top, y2: p.bottom });
		p.add('text', { class: 'tick mid', x: x(t), y: p.bottom + 13 }, t === 1 ? 'all' : quantile(1 - t));
	}
	p.add('text', { class: 'axis end', x: p.right, y: p.bottom + 27 }, 'percentile');
	p.frame();
	p.add('line', { class: 'dashed', x1: p.left, x2: p.right, y1: y(0), y2: y(0) });
	for (const band of bandsOf(rows))
		p.add('path', { class: 'confidence', fill: BAND.colour, 'fill-opacity': 0.2,
			d: bandOutline(band, r => [at(r), y(relative(r, r.lo_ns))], r => [at(r), y(relative(r, r.hi_ns))], true) });
	p.add('path', { class: 'curve', 'data-side': 'difference', stroke: SIDE_B.colour, d: lineThrough(rows.map(r => [at(r), y(relative(r, r.difference_ns))])) });
	p.marks = rows.length;
	followRows(p, rows, at, 'x');
}

// rows: q, a_ns, b_ns, difference_ns, lo_ns, hi_ns
function overlaidPlots(name, of, all) {
	const rows = all.filter(r => num(r.q) > 0 && num(r.q) < 1 && num(r.a_ns) > 0 && num(r.b_ns) > 0 && known(r.difference_ns));
	if (rows.length < 2)
		return [];
	const bands = bandsOf(rows).length, height = w => Math.min(300, Math.max(200, w * 0.45)), gutter = { left: 62, right: 18, top: 8, bottom: 34 };
	return [new Plot({
		name, title: `${of}: A and B`, height, gutter, note: bands ? '' : 'no interval of the difference',
		series: [{ ...SIDE_A, shape: 'bar' }, { ...SIDE_B, shape: 'square' }, ...(bands ? [{ ...BAND, shape: 'square' }] : [])].map(s => ({ name: s.name, colour: s.colour, shape: s.shape })),
		draw: p => drawOverlaid(p, rows),
	}), new Plot({
		name: `${name}-difference`, title: `${of}: difference`, height, gutter, note: bands ? 'with its 95 % interval; the dashed line: no difference' : 'without interval; the dashed line: no difference',
		draw: p => drawChange(p, rows),
	})];
}
