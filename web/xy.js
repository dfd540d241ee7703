// SPDX-License-Identifier: Apache-2.0
// A plot of the rows of a result: lines in steps or points, with intervals, and marks of some rows.
const XY_MAX = 5000;

// options of Plot, and: rows, x, end (fields; a row with an end is a step), axis, showX,
// lines [{field, name, colour, dash}], behind (lines of other fields, where rows are points), lo, hi (fields), isBad(row), marks [{field, sign, at}], words(row)
function xyPlot(options) {
	const fields = options.lines.map(l => l.field);
	const rows = options.rows.slice(0, XY_MAX).filter(r => known(r[options.x]) && (!options.end || num(r[options.end]) > num(r[options.x])))
		.sort((a, b) => num(a[options.x]) - num(b[options.x]));
	const plot = new Plot({
		height: w => Math.min(300, Math.max(200, w * 0.32)), gutter: { left: 62, right: 18, top: 18, bottom: 34 }, ...options,
		draw: p => drawXy(p, options, rows),
	});
	return rows.some(r => fields.some(f => num(r[f]) > 0)) ? plot : null;
}

function xyScales(p, o, rows) {
	const xs = rows.flatMap(r => [num(r[o.x]), o.end ? num(r[o.end]) : num(r[o.x])]);
	const [first, last] = [Math.min(...xs), Math.max(...xs)];
	const pad = o.end ? 0 : (last - first) * 0.04 || Math.abs(first) / 2 || 1;
	const [lo, hi] = logRange(rows.flatMap(r => [...[...o.lines, ...o.behind || []].map(l => l.field), o.hi, o.lo].map(f => f && num(r[f]))).filter(v => v > 0));
	return [linear(first - pad, last + pad, p.left, p.right), logarithmic(lo, hi, p.bottom, p.top)];
}

function drawXy(p, o, rows) {
	const [x, y] = xyScales(p, o, rows);
	p.yAxis(y, tickTime, 'latency');
	p.xAxis(x, o.showX, o.axis);
	drawMarks(p, o, rows, x);
	drawBehind(p, o, rows, x, y);
	for (const row of rows)
		drawInterval(p, o, row, x, y);
	for (const line of o.lines.filter(l => !p.hidden.has(l.name)))
		o.end ? drawSteps(p, o, line, rows, x, y) : drawPoints(p, o, line, rows, x, y);
	p.marks = rows.length;
	let at = 0;
	const put = n => {
		at = Math.max(0, Math.min(rows.length - 1, n));
		const px = x(o.end ? (num(rows[at][o.x]) + num(rows[at][o.end])) / 2 : num(rows[at][o.x]));
		return { x: px, y: p.top + 20, words: o.words(rows[at]), marks: [svg('line', { class: 'cross', x1: px, x2: px, y1: p.top, y2: p.bottom })] };
	};
	p.follow(px => put(rowNear(o, rows, x.back(px))), n => put(Number.isFinite(n) ? at + n : n < 0 ? 0 : rows.length - 1));
}

// The step in which a place is, or the nearest point.
function rowNear(o, rows, place) {
	if (o.end)
		return Math.max(0, rows.filter(r => num(r[o.x]) <= place).length - 1);
	const far = r => Math.abs(num(r[o.x]) - place);
	return rows.reduce((best, r, i) => far(r) < far(rows[best]) ? i : best, 0);
}

// A line through the steps; where a row has no value it is interrupted.
function drawSteps(p, o, line, rows, x, y) {
	let path = '', last = null;
	for (const row of rows) {
		const v = num(row[line.field]);
		if (v > 0)
			path += `${last === num(row[o.x]) ? 'L' : 'M'}${x(num(row[o.x])).toFixed(1)} ${y(v).toFixed(1)}H${x(num(row[o.end])).toFixed(1)}`;
		last = v > 0 ? num(row[o.end]) : null;
	}
	p.add('path', { class: 'curve', 'data-line': line.field, stroke: colour(line.colour), 'stroke-dasharray': line.dash ? '5 3' : null, d: path });
}

// A row that is bad is hollow; without a value it stands at the lower edge.
function drawPoints(p, o, line, rows, x, y) {
	for (const row of rows) {
		const v = num(row[line.field]), bad = o.isBad(row);
		if (v > 0 || bad)
			p.add('path', {
				'data-point': bad ? 'bad' : 'good', fill: bad ? 'var(--paper)' : colour(line.colour), stroke: colour(line.colour), 'stroke-width': 1.5,
				d: shapePath('circle', x(num(row[o.x])), v > 0 ? y(v) : p.bottom, 5),
			});
	}
}

// Other percentiles of the rows, as lines behind the points; of several rows at one place, through their median.
function medians(rows, o, field) {
	const at = new Map();
	for (const r of rows)
		at.set(num(r[o.x]), [...at.get(num(r[o.x])) || [], num(r[field])]);
	return [...at].map(([place, values]) => [place, values.sort((a, b) => a - b)[values.length >> 1]]);
}

function drawBehind(p, o, rows, x, y) {
	for (const line of o.behind || []) {
		const some = p.hidden.has(line.name) ? [] : medians(rows.filter(r => num(r[line.field]) > 0), o, line.field);
		p.add('path', { class: 'curve', 'data-line': line.field, stroke: colour(line.colour), 'stroke-dasharray': line.dash, 'stroke-opacity': 0.7,
			d: some.map(([place, v], i) => `${i ? 'L' : 'M'}${x(place).toFixed(1)} ${y(v).toFixed(1)}`).join('') });
	}
}

// From lo, or from the point if only the upper bound is known, to hi.
function drawInterval(p, o, row, x, y) {
	const hi = o.hi && num(row[o.hi]), lo = o.hi && num(known(row[o.lo]) ? row[o.lo] : row[o.lines[0].field]);
	if (!(hi > 0) || lo === null)
		return;
	const at = x(num(row[o.x])), cap = known(row[o.lo]) ? `M${at - 4} ${y(lo)}h8` : '';
	p.add('path', { class: 'interval', stroke: 'var(--quiet)', fill: 'none', 'stroke-width': 1.5, d: `M${at} ${y(lo)}V${y(hi)}M${at - 4} ${y(hi)}h8${cap}` });
}

// Bands over the rows in which a field is true, or, of what happened at their end, a line; each with its sign.
function drawMarks(p, o, rows, x) {
	for (const mark of o.marks || []) {
		let last = null;
		for (const row of rows.filter(r => r[mark.field] === true)) {
			const from = x(num(row[o.x])), to = x(num(row[o.end]));
			if (mark.at)
				p.add('line', { class: 'dashed', 'data-mark': mark.field, x1: to, x2: to, y1: p.top, y2: p.bottom });
			else
				p.add('rect', { 'data-mark': mark.field, x: from, width: Math.max(1, to - from), y: p.top, height: p.bottom - p.top, fill: 'var(--quiet)', 'fill-opacity': 0.18 });
			if (mark.at || last !== num(row[o.x]))
				p.add('text', { class: 'mid', x: mark.at ? to : (from + to) / 2, y: p.top - 5 }, mark.sign);
			last = num(row[o.end]);
		}
	}
}
