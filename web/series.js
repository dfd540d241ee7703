// SPDX-License-Identifier: Apache-2.0
// Intervals of one run, the lines of a file: its stages over time; the last interval is shown in full.
const LINE_NAME = /^(.*), line (\d+)$/s;
const SERIES_LINES = 8;
const SERIES_COMMANDS = ['watch', 'record', 'conns'];

const seriesName = group => group.entries.length === 1 && SERIES_COMMANDS.includes(group.entries[0].command) &&
	isObject(group.entries[0].document.interval) ? (LINE_NAME.exec(group.entries[0].name) || [])[1] : undefined;

const intervalEnd = (e, side) => num(object(e.document.interval)[side]) || 0;

// Groups that follow each other and are lines of one file, of one command, become one.
function joinLines(groups) {
	const joined = [];
	for (const g of groups) {
		const name = seriesName(g), last = joined[joined.length - 1];
		if (name !== undefined && last && last.line === name && last.entries[0].command === g.entries[0].command) {
			last.series.push(g.entries[0]);
			last.entries = g.entries;
			g.entries[0].span = intervalEnd(g.entries[0], 'to_ns') - intervalEnd(last.series[0], 'from_ns');
		} else {
			joined.push(name === undefined ? g : { ...g, line: name, series: [g.entries[0]] });
		}
	}
	return joined;
}

// p99 of each stage by interval, on the clock of the first.
function stagesOverTime(series) {
	const last = stageRows(series[series.length - 1].document).filter(r => num(r.count) > 0).slice(0, SERIES_LINES);
	const lines = last.map((r, i) => ({ field: `p99_${i}`, name: stageName(r), colour: i }));
	const first = intervalEnd(series[0], 'from_ns');
	const rows = series.map(e => {
		const stages = stageRows(e.document);
		const row = { from_ns: intervalEnd(e, 'from_ns') - first, to_ns: intervalEnd(e, 'to_ns') - first, counts: [] };
		lines.forEach((line, i) => {
			const found = object(stages.find(s => stageName(s) === line.name));
			row[line.field] = object(quantileOf(found.quantiles, 0.99)).ns;
			row.counts[i] = found.count;
		});
		return row;
	});
	return lines.length ? xyPlot({
		name: 'stages-over-time', title: 'p99 of each stage over time', wide: true, rows, x: 'from_ns', end: 'to_ns', axis: 'time since the first interval',
		showX: tickTime, lines, note: `${count(series.length)} intervals`,
		series: lines.map(l => ({ name: l.name, shape: 'square', colour: l.colour })),
		words: r => [`from ${duration(r.from_ns)} to ${duration(r.to_ns)}`,
			...lines.map((l, i) => `${l.name}: p99 ${duration(r[l.field])}, ${count(r.counts[i])} packets`)].join('\n'),
	}) : null;
}

function seriesSection(series) {
	const entry = series[series.length - 1], first = intervalEnd(series[0], 'from_ns');
	const title = e => `interval from ${duration(intervalEnd(e, 'from_ns') - first)}: all fields`;
	return documentSection(entry, 'Over time', [together([entry.command === 'conns' ? null : stagesOverTime(series)]),
		el('p', { class: 'quiet' }, `Of ${count(series.length)} intervals the last is shown below; the others are under \u201cHow it was measured\u201d.`)],
	series.slice(0, -1).map(e => lazily(title(e), () => anything(e.document))));
}
