// SPDX-License-Identifier: Apache-2.0
// Distributions: how much takes longer than a time, or at most as long.

// Buckets count what is above the previous limit and not above theirs; limits are exact, what is
// between them isn't known, so that a curve goes up in steps, at the limits.
function curveOf(series) {
	const points = [];
	let total = 0, sum = 0;
	const buckets = list(series.buckets).filter(b => num(object(b).le_ns) !== null && num(b.count) > 0)
		.map(b => ({ ns: num(b.le_ns), count: num(b.count) })).sort((a, b) => a.ns - b.ns);
	for (const b of buckets)
		total += b.count;
	for (const b of buckets) {
		sum += b.count;
		const top = sum === total && num(series.max_ns) !== null ? num(series.max_ns) : b.ns;
		points.push({ ns: top, below: sum / total, above: (total - sum) / total });
	}
	return { ...series, points, total };
}

function valueAt(curve, ns) {
	let lo = 0, hi = curve.points.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (curve.points[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? curve.points[lo - 1] : { below: 0, above: 1 };
}

// One step per column of pixels: more can't be seen.
function curvePath(curve, x, y, share, first) {
	let path = '', lastX = null, lastY = y(first);
	for (const p of curve.points) {
		const px = Math.round(x(p.ns) * 4) / 4, py = y(share(p));
		if (lastX === null)
			path = `M${px} ${lastY.toFixed(1)}V${py.toFixed(1)}`;
		else if (px - lastX < 0.5 && p !== curve.points[curve.points.length - 1])
			continue;
		else
			path += `H${px}V${py.toFixed(1)}`;
		lastX = px;
		lastY = py;
	}
	return path;
}

// Between two rows the curve is at most at the first one's share, and at least at the second one's.
function bandPath(band, x, y, floor) {
	const rows = band.filter(r => known(r.ns) && known(r.lo) && known(r.hi));
	const at = v => y(Math.max(num(v), floor)).toFixed(1), px = r => x(num(r.ns)).toFixed(1);
	const upper = rows.map((r, i) => i ? `H${px(r)}V${at(r.hi)}` : `M${px(r)} ${at(r.hi)}`).join('');
	const lower = [...rows].reverse().map((r, i) => i ? `V${at(r.lo)}H${px(r)}` : `V${at(r.lo)}`).join('');
	return `${upper}${lower}Z`;
}

const TAILS = [1, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

// series: {name, colour, dash, buckets, max_ns, quantiles, band (rows of ns, lo, hi)}; what has no buckets is named in the note.
function distributionPlot(name, title, all, note) {
	const curves = all.map(curveOf).filter(c => c.points.length);
	const missing = all.filter(s => !curves.some(c => c.name === s.name)).map(s => s.name);
	let tail = true;
	const button = el('button', { type: 'button', 'aria-pressed': 'false', click: () => {
		tail = !tail;
		button.setAttribute('aria-pressed', String(!tail));
		plot.update();
	} }, 'cumulative');
	const plot = new Plot({
		name, title, tools: button, height: w => Math.min(300, Math.max(200, w * 0.45)),
		note: [note, missing.length ? `no distribution: ${missing.join(', ')}` : ''].filter(Boolean).join('; '),
		series: curves.map(c => ({ name: c.name, label: `${c.name} (${count(c.total)})`, shape: c.dash ? 'bar' : 'square', colour: c.colour })),
		draw: p => drawDistribution(p, curves.filter(c => !p.hidden.has(c.name)), tail),
	});
	return curves.length ? plot : null;
}

function drawDistribution(p, curves, tail) {
	p.marks = curves.length;
	if (!curves.length)
		return;
	const [lo, hi] = logRange(curves.flatMap(c => [c.points[0].ns, c.points[c.points.length - 1].ns]));
	const x = logarithmic(lo, hi, p.left, p.right);
	const rarest = Math.min(...curves.map(c => c.points.length > 1 ? c.points[c.points.length - 2].above : 0.5));
	// One count may be so large that the others are nothing beside it.
	const floor = Math.max(1e-12, Math.min(0.1, rarest) / 2);
	const y = tail ? logarithmic(floor, 1, p.bottom, p.top) : linear(0, 1, p.bottom, p.top);
	p.yAxis(y, v => tail ? (v === 1 ? 'all' : quantile(1 - v)) : percent(v), tail ? 'share that takes longer' : 'share',
		tail ? TAILS.filter(t => t >= floor) : [0, 0.25, 0.5, 0.75, 1]);
	p.xAxis(x, tickTime, 'latency');
	const share = tail ? point => Math.max(point.above, floor) : point => point.below;
	for (const c of curves.filter(c => tail && list(c.band).some(r => known(r.hi))))
		p.add('path', { class: 'confidence', fill: colour(c.colour), 'fill-opacity': 0.2, d: bandPath(c.band, x, y, floor) });
	for (const c of curves)
		p.add('path', {
			class: 'curve', stroke: colour(c.colour), 'stroke-dasharray': c.dash ? '5 3' : null,
			d: curvePath(c, x, y, share, tail ? 1 : 0),
		});
	let at = (p.left + p.right) / 2;
	const put = px => {
		at = Math.max(p.left, Math.min(p.right, px));
		const ns = x.back(at);
		return {
			x: at, y: p.top + 20,
			words: [`at ${duration(ns)}`, ...curves.map(c => {
				const v = valueAt(c, ns);
				return `${c.name}: ${percent(v.below)} at most, ${percent(v.above)} longer`;
			})].join('\n'),
			marks: [svg('line', { class: 'cross', x1: at, x2: at, y1: p.top, y2: p.bottom })],
		};
	};
	p.follow(px => put(px), n => put(Number.isFinite(n) ? at + n * (p.right - p.left) / 100 : n < 0 ? p.left : p.right));
}
