// SPDX-License-Identifier: Apache-2.0
// A fleet: which resources stand out, when, and which connections are behind that.
const FLEET_STRIPS = 20;

const resourceName = g => `${text(g.kind)} ${text(g.name)}`;
const findingName = g => `${resourceName(g)}, ${text(g.problem)}`;
const findingKey = g => [g.kind, g.name, g.problem, g.evidence].map(text).join('|');

const findingWords = g => [
	findingName(g), `${count(g.affected)} of ${count(g.connections)} connections on ${count(g.hosts)} hosts`,
	`share ${percent(g.share)}, others ${percent(g.share_others)}`, `lost ${duration(g.lost_ns)}, of it ${duration(g.excess_ns)} more than others`,
	known(g.acc) ? `mean correlation ${count(g.acc)}` : '',
].filter(Boolean).join('\n');

function fleetShares(groups, open) {
	const some = groups.filter(g => known(g.share));
	const most = Math.max(0.001, ...some.flatMap(g => [num(g.share), num(g.share_others) || 0]));
	return rowsPlot({
		name: 'fleet-shares', title: 'Share of the time with the problem', rows: some, label: findingName, key: findingKey, axis: 'share of the known time',
		note: 'full: at the resource, open: at others', show: percent, aside: g => duration(g.excess_ns), asideTitle: 'excess', open,
		x: p => linear(0, most, p.left, p.right), words: findingWords,
		paint: (g, x, y) => stepMarks(g.share_others, g.share, x, y, 'var(--c1)'),
	});
}

// A strip for each finding: the darker, the larger the share of its connections at that time.
function fleetStrips(doc, groups, open) {
	const fleet = object(doc.fleet), rows = groups.filter(g => records(g.over_time).length).slice(0, FLEET_STRIPS);
	const length = num(fleet.to_ns) - num(fleet.from_ns), cells = g => records(g.over_time).filter(c => known(c.share));
	return rowsPlot({
		name: 'fleet-strips', title: 'When', wide: true, rows, label: findingName, key: findingKey, axis: 'time since the begin', show: tickTime, open,
		note: 'the darker, the more of its connections have the problem at that time; each strip by its own greatest share',
		x: p => linear(0, length, p.left, p.right), words: g => `${findingName(g)}\ngreatest share ${percent(Math.max(0, ...cells(g).map(c => num(c.share))))}`,
		paint: (g, x, y) => {
			const most = Math.max(1e-9, ...cells(g).map(c => num(c.share)));
			return cells(g).filter(c => num(c.share) > 0).map(c => svg('rect', {
				x: x(num(c.offset_ns)), width: Math.max(0.5, x(num(c.offset_ns) + num(c.length_ns)) - x(num(c.offset_ns))), y: y - 7, height: 14,
				fill: 'var(--c1)', 'fill-opacity': (0.1 + 0.9 * num(c.share) / most).toFixed(3),
			}));
		},
	});
}

const MEMBER_COLUMNS = [['host'], ['connection'], ['share'], ['score', 'standard deviations'], ['file', 'recording']];

// The connections of one finding, with the files that have them.
function fleetMembers(doc) {
	const node = el('section', { id: idOf('fleet-members'), 'data-section': 'fleet-members' }), files = new Map();
	for (const r of records(doc.recordings))
		files.set(text(r.host), [...files.get(text(r.host)) || [], text(r.file)]);
	const open = g => {
		const members = records(g.culprits).map(m => ({ ...m, file: (files.get(text(m.host)) || []).join(', ') || null }));
		node.replaceChildren(titled(`Connections behind ${findingName(g)}`, members, MEMBER_COLUMNS, { name: 'fleet-members', empty: 'no single one stands out' }),
			el('p', { class: 'quiet' }, sentence(text(g.advice))));
	};
	return { node, open };
}

// Resources by kind, each a table of its own.
function fleetTree(resources) {
	const kinds = [...new Set(resources.map(r => text(r.kind)))];
	return kinds.map(kind => {
		const rows = resources.filter(r => text(r.kind) === kind), names = new Set(rows.map(r => text(r.name)));
		return lazily(`${kind}: ${count(names.size)}`, () => table(rows, [['name'], ['problem'], ['connections'], ['affected'], ['share'], ['lost_ns', 'lost']],
			{ name: `fleet-${kind}` }));
	});
}

function fleetSection(entry) {
	const doc = entry.document, groups = records(doc.groups), fleet = object(doc.fleet), { node, open } = fleetMembers(doc);
	const how = [
		sentences([doc.headline, ...list(doc.findings)].filter(Boolean), 'findings'), verdictOf(doc), reasonsOf(doc),
		provenance(doc, [['hosts', fleet.hosts], ['connections', fleet.connections], ['tests', fleet.tested], ['not tested: too few', fleet.too_few]]),
		allFields(doc),
	];
	if (groups.length)
		open(groups[0]);
	return documentSection(entry, 'Fleet', [
		together([fleetShares(groups, open)]), together([fleetStrips(doc, groups, open)]),
		titled('Resources that stand out', groups, [['kind'], ['name'], ['problem'], ['evidence', 'how'], ['affected'], ['connections'], ['hosts'], ['share'],
			['share_others', 'others', percent], ['acc', 'together'], ['p_value', 'p'], ['lost_ns', 'lost'], ['excess_ns', 'excess'], ['within']],
		{ name: 'fleet-groups', open, key: findingKey, empty: 'none' }),
		groups.length ? node : null,
		titled('Applications that wait when others have a problem', records(doc.pipelines).map(p => ({ ...p, behind: resourceName(p) })),
			[['application', 'waiting'], ['behind', 'behind it'], ['problem'], ['hosts'], ['lag_ns', 'later'], ['share', 'share of the time, with the problem'],
				['share_otherwise', 'without it', percent], ['acc', 'together'], ['p_value', 'p'], ['waiting_ns', 'more waiting']],
			{ name: 'fleet-pipelines', empty: 'none' }),
		titled('Applications', records(doc.applications), [['application'], ['problem'], ['connections'], ['over_0', 'limited at all', percent],
			['over_25', 'over 25 % of the time', percent], ['over_50', 'over 50 %', percent], ['over_75', 'over 75 %', percent], ['lost_ns', 'lost']],
		{ name: 'fleet-applications', empty: 'no application has a problem' }),
		el('section', null, [el('h3', null, 'Problems by resource'), fleetTree(records(doc.resources))]),
	], how);
}
