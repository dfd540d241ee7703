// SPDX-License-Identifier: Apache-2.0
// Limits of connections: from conns, from explain's run, and from two runs.
const LIMITS = ['send-buffer', 'congestion', 'receiver-window', 'delayed-ack', 'sender-app'];
const STATES = ['on-cpu', 'interrupted', 'cpu-wait', 'blocked', 'stopped', 'asleep', 'unknown'];
const EVENTS = [['fast_retransmit', 'FR'], ['rto', 'RTO'], ['tlp', 'TLP'], ['spurious'], ['delayed_acks', 'delayed ACKs'],
	['delayed_acks_harmful', 'data held']];
const CONNECTIONS_DRAWN = 20;

// Limits of the application itself, and unknown ones, are grey.
const GREY = ['sender-app', 'asleep', 'unknown'];
// What is a cause, too, has its colour.
const stateColour = (names, name) => causeStyles.has(name) ? styleOf({ cause: name }).colour : GREY.includes(name) ? 8 : partColours(names.indexOf(name));

// Parts of a time as shares of those that are known, in one bar.
function sharesPlot(options, names, of) {
	const parts = row => names.map(name => [name, num(object(of(row))[name])]).filter(([, v]) => v > 0);
	const sum = row => parts(row).reduce((n, [, v]) => n + v, 0);
	const rows = options.rows.filter(row => sum(row) > 0), missing = options.rows.filter(row => !sum(row));
	const seen = names.filter(name => rows.some(row => parts(row).some(([n]) => n === name)));
	return rowsPlot({
		axis: 'share of the time', show: percent, ...options, rows, x: p => linear(0, 1, p.left, p.right),
		note: [options.note, missing.length ? `not known: ${missing.slice(0, 3).map(options.label).join(', ')}${missing.length > 3 ? ', ...' : ''}` : '']
			.filter(Boolean).join('; '),
		legend: legend(seen.map(name => ({ name, shape: 'square', colour: stateColour(names, name) })), true),
		words: row => [options.label(row), ...parts(row).map(([name, v]) => `${name} ${percent(v / sum(row))}, ${duration(v)}`)].join('\n'),
		paint: (row, x, y) => {
			let at = 0;
			return parts(row).map(([name, v]) => {
				const from = at;
				at += v / sum(row);
				return svg('rect', { x: x(from), width: Math.max(0.5, x(at) - x(from)), y: y - 6, height: 12, fill: colour(stateColour(names, name)) });
			});
		},
	});
}

const eventColumns = EVENTS.map(([name, title]) => [`events.${name}`, title]);
const limitColumns = LIMITS.map(name => ({
	name, field: `share.${name}`, number: true, value: r => {
		const times = LIMITS.map(n => num(object(r.time_ns)[n])), sum = times.reduce((n, v) => n + (v || 0), 0);
		return sum && times.every(v => v !== null) ? times[LIMITS.indexOf(name)] / sum : null;
	}, show: percent,
}));

// From the shortest round trip to the longest one; a box to p90, a bar at p50, a tick at p99.
function rttPlot(connections, note) {
	const rtt = c => object(c.rtt), rows = connections.filter(c => known(rtt(c).min_ns) && known(rtt(c).p50_ns));
	const names = [['min_ns', 'least'], ['p50_ns', 'p50'], ['p90_ns', 'p90'], ['p99_ns', 'p99'], ['max_ns', 'greatest']];
	return rowsPlot({
		name: 'conns-rtt', title: 'Round trips', rows, label: connectionName, key: c => text(c.cookie), axis: 'round trip',
		note: [note, 'bar: p50, box: to p90, tick: p99, line: least to greatest'].filter(Boolean).join('; '),
		x: timeScale(c => names.map(([name]) => rtt(c)[name])),
		words: c => [connectionName(c), ...names.map(([name, title]) => `${title} ${duration(rtt(c)[name])}`), `${count(rtt(c).samples)} samples`].join('\n'),
		paint: (c, x, y) => {
			const at = name => x(num(rtt(c)[name])), has = name => known(rtt(c)[name]);
			const upright = (name, half, width) => has(name) && svg('line', {
				x1: at(name), x2: at(name), y1: y - half, y2: y + half, stroke: 'var(--c1)', 'stroke-width': width,
			});
			return [
				svg('line', { x1: at('min_ns'), x2: at('max_ns'), y1: y, y2: y, stroke: 'var(--c1)', 'stroke-width': 1.5 }),
				has('p90_ns') && svg('rect', {
					x: at('p50_ns'), width: Math.max(1, at('p90_ns') - at('p50_ns')), y: y - 6, height: 12, fill: 'var(--c1)', 'fill-opacity': 0.35,
				}),
				upright('p50_ns', 7, 3), upright('p99_ns', 5, 1.5),
			];
		},
	});
}

const connectionName = c => [`${text(c.local) || NA} \u2192 ${text(c.remote) || NA}`, text(c.app)].filter(Boolean).join(', ');
const PROBLEM_COLUMNS = [
	{ name: 'class', value: p => p.class }, { name: 'connection', value: connectionName }, ['harmful'], ['confidence'], ['lost_ns', 'lost'],
	['message'], ['advice'], ['evidence', 'evidence', shownEvidence],
];

function connsSection(entry) {
	const doc = entry.document, all = records(doc.connections).filter(isObject), totals = object(doc.totals);
	const budget = object(doc.budget), time = object(doc.interval);
	const more = all.length > CONNECTIONS_DRAWN ? `the first ${CONNECTIONS_DRAWN}; the table has ${count(all.length)}` : '';
	const how = [
		sentences([doc.headline, ...list(doc.findings)].filter(Boolean), 'findings'), verdictOf(doc), reasonsOf(doc),
		provenance(doc, [
			['duration', time.duration_ns, undefined, null, 'duration_ns'], ['connections', totals.connections],
			['with problems', totals.with_problems, undefined, num(totals.with_problems) ? 'warn' : null, 'with_problems'],
			['own cost, of a core', budget.used, percent(budget.used), null, 'used'], lossesOf(doc.losses, 'losses'),
		]),
		records(doc.missing).length ? titled('Not measured', records(doc.missing), [['name'], ['why']], { name: 'missing' }) : null,
		allFields(doc),
	];
	return documentSection(entry, 'Connections', [
		together([sharesPlot({
			name: 'conns-limits', title: 'What limited the connections', rows: all.slice(0, CONNECTIONS_DRAWN), label: connectionName,
			key: c => text(c.cookie), note: more,
		}, LIMITS, c => c.time_ns), rttPlot(all.slice(0, CONNECTIONS_DRAWN), more)]),
		records(doc.problems).length ? titled('Problems', records(doc.problems), PROBLEM_COLUMNS, { name: 'conns-problems' }) : null,
		titled('Connections', all, [['cookie'], { name: 'connection', value: connectionName }, ['limit'], ['limit_share', 'of time', percent],
			...eventColumns, ['rtt.p50_ns', 'RTT p50'], ['rtt.p99_ns', 'p99'], ['rtt.samples', 'samples'], ['problems', 'problems', v => list(v).map(text).join(', ')]], { name: 'connections', empty: 'there was none' }),
	], how);
}

// Explain's additions to the limits: both ends, and the threads that they waited for.
function limitsOf(limits) {
	if (!isObject(limits))
		return null;
	const ends = records(limits.ends).filter(isObject), parties = records(limits.responsible).filter(isObject);
	const thread = p => `${isObject(p.doing) ? who(p.doing) : `process ${text(p.pid) || NA}`}, ${text(p.end)}, ${p.duty === 'read' ? 'to read' : 'to write'}`;
	if (!ends.length)
		return el('p', { class: 'quiet' }, `What limits the connections: n/a${limits.why ? `, ${text(limits.why)}` : ''}.`);
	return el('section', null, [
		together([
			sharesPlot({ name: 'limits', title: 'Share of the time', rows: ends, label: e => `of the ${text(e.end)}`, key: e => text(e.end) },
				LIMITS, e => e.time_ns),
			sharesPlot({
				name: 'doing', title: 'What those did that were waited for', rows: parties.filter(p => isObject(p.doing)), label: thread, key: thread,
			}, STATES, p => object(p.doing).state_ns),
		]),
		table(ends, [['end'], ['connections'], ['with_problems'], ...limitColumns, ['unknown_ns', 'not known'], ['samples'], ...eventColumns, ['why', 'n/a because']],
			{ name: 'limits' }),
	]);
}

// Each thread that connections waited for, as a table.
function responsibleOf(limits) {
	const parties = records(object(limits).responsible).filter(isObject);
	return parties.length ? titled('Who was waited for', parties, [['duty', 'to'], ['end'], ['connections'], ['pid'],
		{ name: 'thread', value: p => isObject(p.doing) ? who(p.doing) : null }, ['doing.duration_ns', 'for'],
		...STATES.map(name => [`doing.state_ns.${name}`, name, v => duration(v)]),
		{ name: 'calls', value: p => records(object(p.doing).calls).slice(0, 3).map(c => `${text(c.call) || 'in none'} ${duration((num(c.on_cpu_ns) || 0) + (num(c.asleep_ns) || 0) + (num(c.blocked_ns) || 0))}`).join(', ') || null },
		{ name: 'had the CPU', value: p => records(object(p.doing).culprits).slice(0, 2).map(c => `${who(c)} ${duration(c.ns)}`).join(', ') || null },
		['why', 'n/a because']], { name: 'responsible' }) : null;
}

const RATE = v => known(v) ? `${count(v)}/s` : NA;
const limitUnit = row => row.unit === 'share' ? percent : RATE;
const limitName = r => `${text(r.what)} (${text(r.end)})`;

function limitsCompared(limits) {
	const all = records(object(limits).rows).filter(isObject);
	const some = all.filter(r => num(r.a) !== 0 || num(r.b) !== 0), shares = some.filter(r => r.unit === 'share' && known(r.a) && known(r.b));
	const column = (name, title, sign) => ({
		name, title, field: name, number: true, value: r => r[name], show: (v, r) => sign ? `${signed(v, limitUnit(r))}${r.unit === 'share' && known(v) ? '-points' : ''}` : limitUnit(r)(v),
	});
	return all.length ? [
		together([rowsPlot({
			name: 'compare-limits', title: 'Limits of the connections', rows: shares, label: limitName, key: limitName, axis: 'share of the time', show: percent,
			note: 'open: A, full: B; in colour where the difference is significant', aside: r => signed(r.difference, percent), asideTitle: 'B \u2212 A',
			x: p => linear(0, 1, p.left, p.right), words: r => `${limitName(r)}: A ${percent(r.a)}, B ${percent(r.b)}, significant: ${significance(r)}`,
			paint: (r, x, y) => stepMarks(r.a, r.b, x, y, r.significant === true ? 'var(--c1)' : 'var(--c8)'),
		})]),
		titled('Limits of the connections', some, [['end'], ['what', 'limit'], column('a', 'A'), column('b', 'B'), column('difference', 'B \u2212 A', true),
			column('lo', 'interval from', true), column('hi', 'to', true), ['adjusted_p', 'adjusted p', adjusted],
			DIFFERS], { name: 'compare-limits' }),
	] : null;
}
