// SPDX-License-Identifier: Apache-2.0
// Plots of a row for each thing: boxes, pairs of bars, differences.
const ROWS_MAX = 40;
const ROWS_PRINTED = 8;
const ROW_HEIGHT = 19;

// options of Plot, and: rows, label(row), aside(row), asideTitle, x(plot, rows), axis, show,
// paint(row, x, y), words(row), open(row), on(row), key(row)
function rowsPlot(options) {
	const rows = options.rows.slice(0, ROWS_MAX);
	const left = options.rows.length - rows.length;
	const longest = Math.max(0, ...rows.map(r => options.label(r).length));
	const plot = new Plot({
		...options,
		note: [options.note, left ? `${count(left)} more are in the table` : ''].filter(Boolean).join('; '),
		gutter: { left: Math.min(230, 14 + longest * 6.2), right: options.aside ? 72 : 18, top: options.aside ? 16 : 6, bottom: 34 },
		height: () => 42 + (options.aside ? 12 : 0) + onPaper(rows).length * ROW_HEIGHT,
		draw: p => drawRows(p, options, onPaper(rows)),
	});
	return rows.length ? plot : null;
}

// On paper the first of them are enough.
const onPaper = rows => printing ? rows.slice(0, ROWS_PRINTED) : rows;

function drawRows(p, options, rows) {
	const x = options.x(p, rows), room = Math.min(37, Math.floor((p.left - 10) / 6.2));
	p.xAxis(x, options.show || tickTime, options.axis);
	if (options.asideTitle)
		p.add('text', { class: 'axis end', x: p.width - 4, y: p.top - 5 }, options.asideTitle);
	rows.forEach((row, i) => {
		const y = p.top + (i + 0.5) * ROW_HEIGHT;
		const act = options.open ? () => options.open(row) : null;
		const node = p.add('g', {
			class: `row${act ? ' mark' : ''}${options.on && options.on(row) ? ' on' : ''}`, tabindex: i ? -1 : 0,
			role: act ? 'button' : 'img', 'aria-label': options.words(row), 'data-key': options.key ? options.key(row) : null,
			click: act, pointermove: e => showTip(options.words(row), e.clientX, e.clientY), pointerleave: hideTip, blur: hideTip,
			focus: e => {
				const box = e.currentTarget.getBoundingClientRect();
				showTip(options.words(row), box.left + p.left, box.bottom - 12);
			},
			keydown: e => moveRow(e, act),
		}, [
			svg('rect', { class: 'band', x: 0, width: p.width, y: y - ROW_HEIGHT / 2, height: ROW_HEIGHT }),
			svg('text', { class: 'end', x: p.left - 6, y: y + 4 }, clip(options.label(row), room)),
			options.aside && svg('text', { class: 'end', x: p.width - 4, y: y + 4 }, options.aside(row)),
		]);
		node.append(...options.paint(row, x, y).filter(Boolean));
	});
	p.marks = rows.length;
}

const clip = (words, most) => words.length > most ? `${words.slice(0, most - 1)}\u2026` : words;

function moveRow(event, act) {
	const rows = [...event.currentTarget.parentNode.querySelectorAll('.row')];
	const at = rows.indexOf(event.currentTarget);
	const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
	if (to !== undefined && rows[to])
		rows[to].focus();
	else if ((event.key === 'Enter' || event.key === ' ') && act)
		act();
	else if (event.key === 'Escape')
		hideTip();
	else
		return;
	event.preventDefault();
}

const timeScale = values => (p, rows) => {
	const [lo, hi] = logRange(rows.flatMap(values).map(num).filter(v => v !== null && v > 0));
	return logarithmic(lo, hi, p.left, p.right);
};

const known = value => num(value) !== null;

// p25 to p75 with the median, and a line to the largest.
function boxMarks(row, x, y, fillColour) {
	const half = 6, at = name => x(num(row[name]));
	const marks = [];
	if (known(row.p75_ns) && known(row.max_ns))
		marks.push(svg('line', { x1: at('p75_ns'), x2: at('max_ns'), y1: y, y2: y, stroke: fillColour, 'stroke-width': 1.5 }));
	if (known(row.max_ns))
		marks.push(svg('circle', { cx: at('max_ns'), cy: y, r: 2.5, fill: fillColour }));
	if (known(row.p25_ns) && known(row.p75_ns))
		marks.push(svg('rect', {
			x: at('p25_ns'), width: Math.max(1, at('p75_ns') - at('p25_ns')), y: y - half, height: 2 * half,
			fill: fillColour, 'fill-opacity': 0.35, stroke: fillColour,
		}));
	if (known(row.median_ns))
		marks.push(svg('line', { x1: at('median_ns'), x2: at('median_ns'), y1: y - half - 1, y2: y + half + 1, stroke: fillColour, 'stroke-width': 3 }));
	return marks;
}

const boxWords = row => [['median', 'median_ns'], ['p25', 'p25_ns'], ['p75', 'p75_ns'], ['largest', 'max_ns']]
	.map(([name, field]) => `${name} ${duration(row[field])}`).join(', ');

// Two bars, the measured one full and the other one open.
function pairMarks(a, b, x, y, style) {
	const bar = (value, top, attributes) => known(value) && svg('rect', {
		x: x(0), width: Math.max(0.5, x(num(value)) - x(0)), y: y + top, height: 7, ...attributes,
	});
	return [
		bar(a, -7, { fill: style }),
		bar(b, 0.5, { fill: 'none', stroke: 'var(--quiet)' }),
	];
}

// From a value to another one.
function stepMarks(a, b, x, y, style) {
	const marks = [];
	if (known(a) && known(b))
		marks.push(svg('line', { x1: x(num(a)), x2: x(num(b)), y1: y, y2: y, stroke: style, 'stroke-width': 2 }));
	if (known(a))
		marks.push(svg('circle', { cx: x(num(a)), cy: y, r: 4, fill: 'var(--paper)', stroke: style, 'stroke-width': 2 }));
	if (known(b))
		marks.push(svg('circle', { cx: x(num(b)), cy: y, r: 4, fill: style }));
	return marks;
}
