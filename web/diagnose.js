// SPDX-License-Identifier: Apache-2.0
// Why slow messages were slow.
const MESSAGES_SHOWN = 25;

const dialog = new MessageDialog();
const diagnoses = [];

// Causes of a diagnosis; where there are none, those of its messages.
function causesOf(doc) {
	const causes = records(doc.causes), sums = new Map();
	for (const p of causes.length ? [] : records(doc.examples).flatMap(e => records(e.parts)))
		sums.set(causeKey(p), { cause: p.cause, where: p.where, total_ns: (object(sums.get(causeKey(p))).total_ns || 0) + (num(p.ns) || 0) });
	return causes.length ? causes : [...sums.values()];
}

class Diagnosis {
	constructor(entry) {
		this.entry = entry;
		this.doc = entry.document;
		this.causes = list(this.doc.causes).filter(isObject);
		this.examples = list(this.doc.examples).filter(isObject);
		this.omitted = num(this.doc.examples_omitted);
		this.order = [...this.examples].sort((a, b) => (num(a.at_ns) || 0) - (num(b.at_ns) || 0));
		this.wantedCauses = new Set();
		this.time = null;
	}

	open(message) {
		const shownOnes = this.order.filter(m => this.visible(m));
		dialog.show(message, shownOnes.includes(message) ? shownOnes : this.order, this.entry.id);
	}

	// Without a choice, all causes are wanted.
	wanted(part) {
		return !this.wantedCauses.size || this.wantedCauses.has(causeKey(part));
	}

	visible(message) {
		const at = num(message.at_ns);
		return (!this.time || (at !== null && at >= this.time.from && at <= this.time.to)) &&
			(!this.wantedCauses.size || records(message.parts).some(p => num(p.ns) > 0 && this.wantedCauses.has(causeKey(p))));
	}

	toggle(cause) {
		const key = causeKey(cause);
		if (!this.wantedCauses.delete(key))
			this.wantedCauses.add(key);
		this.refilter();
	}

	// A choice of time, in the plot of the latency over it.
	during(range) {
		this.time = range;
		this.refilter();
	}

	all() {
		this.wantedCauses.clear();
		this.time = null;
		if (this.heat) {
			this.heat.brushed = null;
			this.heat.update();
		}
		this.refilter();
	}

	refilter() {
		for (const [key, chip] of this.chips)
			chip.setAttribute('aria-pressed', String(this.wantedCauses.has(key)));
		this.messages.filter(m => this.visible(m));
		this.filtered.forEach(p => p.update());
		const n = this.examples.filter(m => this.visible(m)).length;
		const began = num(object(records(this.doc.over_time)[0]).from_ns) || 0;
		this.status.textContent = this.wantedCauses.size || this.time ? `${count(n)} of ${count(this.examples.length)} messages` +
			(this.time ? `, read from ${duration(this.time.from - began)} to ${duration(this.time.to - began)}` : '') : 'all messages';
	}

	filterBar() {
		this.chips = new Map(this.causes.map(c => [causeKey(c), el('button', {
			type: 'button', 'aria-pressed': 'false', 'data-cause': causeKey(c), click: () => this.toggle(c),
		}, [legendMark(styleOf(c)), causeName(c)])]));
		this.status = el('span', { class: 'quiet', role: 'status' }, 'all messages');
		return el('div', { class: 'chips', role: 'group', 'aria-label': 'Filter by cause' }, [
			el('span', { class: 'quiet' }, 'Only messages with:'), [...this.chips.values()],
			el('button', { type: 'button', click: () => this.all() }, 'all'), this.status,
		]);
	}

	boxes(name, title, note, rows) {
		return rowsPlot({
			name, title, note, rows, label: causeName, axis: 'deviation of a message', aside: c => count(c.messages),
			asideTitle: 'messages', key: causeKey, on: c => this.wantedCauses.has(causeKey(c)), open: c => this.toggle(c),
			x: timeScale(c => [c.median_ns, c.p25_ns, c.p75_ns, c.max_ns]),
			words: c => `${causeName(c)}: ${count(c.messages)} messages\n${boxWords(c)}\nin all ${duration(c.total_ns)}, ${percent(c.share)}`,
			paint: (c, x, y) => boxMarks(c, x, y, colour(styleOf(c).colour)),
		});
	}

	causePlots() {
		const by = field => [...this.causes].sort((a, b) => (num(b[field]) || 0) - (num(a[field]) || 0));
		const waiting = by('median_ns').filter(c => c.kind === 'gap' || c.cause === 'cpu-wait');
		return [
			this.boxes('causes-deviation', 'Causes by deviation', 'largest median first', by('median_ns')),
			this.boxes('causes-count', 'Causes by messages', 'most messages first', by('messages')),
			this.boxes('causes-idle', 'Causes that are waiting', 'the reader or its CPU did nothing for the message', waiting),
		];
	}

	queuing() {
		const rows = records(this.doc.queuing).map(r => ({ ...r, target_count: r.target_median, reference_count: r.reference_median }));
		const name = r => causeName({ cause: r.what, where: r.where });
		return [rowsPlot({
			name: 'queuing-count', title: 'Queuing: how often', rows, label: name, axis: 'times per message', show: count, key: name,
			note: 'full: slow messages, open: reference', aside: r => signed((num(r.target_count) || 0) - (num(r.reference_count) || 0), count),
			asideTitle: 'difference',
			x: p => linear(0, Math.max(1, ...rows.flatMap(r => [num(r.target_count), num(r.reference_count)])), p.left, p.right),
			words: r => `${name(r)}: ${count(r.target_count)}, reference ${count(r.reference_count)}` +
				(known(r.target_max) ? `, at most ${count(r.target_max)}` : ''),
			paint: (r, x, y) => pairMarks(r.target_count, r.reference_count, x, y, colour(0)),
		}), rowsPlot({
			name: 'queuing-time', title: 'Queuing: how long', rows: rows.filter(r => known(r.median_ns)), label: name, axis: 'time behind others', key: name,
			aside: r => count(r.messages), asideTitle: 'messages', x: timeScale(r => [r.median_ns, r.p25_ns, r.p75_ns, r.max_ns]),
			words: r => `${name(r)}: ${count(r.messages)} messages\n${boxWords(r)}`,
			paint: (r, x, y) => boxMarks(r, x, y, colour(0)),
		})];
	}

	// `field`: over all cores, or for each.
	contexts(plot, field, title) {
		const gap = r => Math.abs((num(r.target_fraction) || 0) - (num(r.reference_fraction) || 0));
		const rows = list(this.doc[field]).filter(isObject).sort((a, b) => gap(b) - gap(a));
		const name = r => [PLACES[r.where] || text(r.where), known(r.core) ? `core ${r.core}` : '', text(r.context)].filter(Boolean).join(' ');
		return rowsPlot({
			name: plot, title, rows, label: name, axis: 'share of the time', show: percent,
			note: 'full: slow messages, open: reference; largest difference first', key: name,
			x: p => linear(0, Math.max(0.01, ...rows.flatMap(r => [num(r.target_fraction), num(r.reference_fraction)])), p.left, p.right),
			words: r => `${name(r)}: ${percent(r.target_fraction)}, reference ${percent(r.reference_fraction)}`,
			paint: (r, x, y) => pairMarks(r.target_fraction, r.reference_fraction, x, y, colour(0)),
		});
	}

	latencies() {
		const latency = object(this.doc.latency);
		const some = [['all', 'all', 8], ['target', 'slow', 1], ['reference', 'reference', 0]];
		return distributionPlot('latency', 'Latency of messages', some.filter(([f]) => isObject(latency[f]))
			.map(([field, name, n]) => ({ ...latency[field], name, colour: n })));
	}

	balloons() {
		const excess = p => num(p.ns) > 0 && p.cause !== 'expected';
		const messages = this.order.map(message => {
			const parts = records(message.parts).filter(excess);
			const sum = parts.reduce((n, p) => n + num(p.ns), 0);
			return {
				message, at: num(message.at_ns), latency: num(message.latency_ns),
				shares: parts.map(part => ({ part, share: num(part.ns) / sum, style: styleOf(part) })).sort((a, b) => b.share - a.share),
			};
		});
		const items = this.causes.filter(c => styleOf(c).colour < 8).sort((a, b) => num(b.total_ns) - num(a.total_ns))
			.map(c => ({ name: causeName(c), ...styleOf(c) }));
		return balloonPlot('balloons', messages, {
			legend: legend([...items, { name: 'others', colour: 8, shape: 'circle' }], true),
			visible: m => this.visible(m.message), wanted: part => this.wanted(part), open: message => this.open(message),
		});
	}

	messageTable() {
		const main = m => records(m.parts).filter(p => num(p.ns) > 0 && p.cause !== 'expected')
			.reduce((best, p) => !best || num(p.ns) > num(best.ns) ? p : best, null);
		const columns = [
			['id'], ['at_ns', 'arrived'], ['latency_ns'], ['deviation_ns'],
			{ name: 'main', title: 'main cause', value: m => main(m) && causeName(main(m)), draw: m => main(m) ?
				[legendMark(styleOf(main(m))), `${causeName(main(m))} ${duration(main(m).ns)}`] : NA },
			{ name: 'culprits', title: 'culprits', value: m => main(m) && culprits(main(m).culprits, 2) },
			{ name: 'reader', value: m => who(m) }, ['local'], ['remote'], ['bytes'], ['coverage'],
		];
		const first = num(object(this.order[0]).at_ns) || 0;
		columns[1] = ['at_ns', 'arrived', v => known(v) ? `+${duration(num(v) - first)}` : NA];
		this.messages = new Table(this.examples, columns.map(c => columnOf(c, this.examples)), {
			name: 'messages', page: MESSAGES_SHOWN, open: m => this.open(m), key: m => text(m.id), filter: m => this.visible(m),
		});
		return this.messages.node;
	}

	causeTable() {
		return titled('Causes', this.causes, [
			{ name: 'cause', value: c => causeName(c), draw: c => [legendMark(styleOf(c)), causeName(c)] }, ['kind'],
			['messages'], ['total_ns'], ['share'], ['median_ns'], ['p25_ns'], ['p75_ns'], ['max_ns'],
			{ name: 'culprits', value: c => culprits(c.culprits, 3) },
		], { name: 'causes', key: causeKey, open: c => this.toggle(c), empty: 'no cause was found' });
	}

	head() {
		const d = this.doc, coverage = object(d.coverage), messages = object(d.messages), recording = object(d.recording);
		const lost = Array.isArray(recording.lost) ? lossesOf(recording.lost, 'lost') :
			['lost', recording.lost, recording.lost === undefined || recording.lost === null ? NA : isObject(recording.lost) ? shownEvidence(recording.lost) : count(recording.lost), num(recording.lost) ? 'warn' : null, 'lost'];
		return provenance(d, [
			['messages', messages.count, undefined, null, 'count'], ['slow', messages.target, undefined, null, 'target'],
			['reference', messages.reference, undefined, null, 'reference'], ['recorded', recording.duration_ns, undefined, null, 'duration_ns'],
			['granularity', recording.granularity_ns, undefined, null, 'granularity_ns'], lost,
			['coverage, median', coverage.median, percent(coverage.median), null, 'median'],
			['coverage, p10', coverage.p10, percent(coverage.p10), null, 'p10'], ['coverage, worst', coverage.min, percent(coverage.min), null, 'min'],
			['with more parts than time', coverage.over_attributed, undefined, num(coverage.over_attributed) ? 'warn' : null, 'over_attributed'],
			['not recorded', d.blind_ns, undefined, num(d.blind_ns) ? 'warn' : null, 'blind_ns'],
			['error of the parts', d.partition_error_ns, undefined, num(d.partition_error_ns) ? 'bad' : null, 'partition_error_ns'],
		]);
	}

	// The data behind the plots of cores and queues, as tables.
	views() {
		return [['Contexts, as a table', 'contexts'], ['Contexts by core, as a table', 'contexts_by_core'], ['Queuing, as a table', 'queuing']].map(([title, field]) => {
			const rows = records(this.doc[field]);
			return rows.length ? lazily(title, () => table(rows, fieldsOf(rows).map(f => [f]), { name: field })) : null;
		});
	}

	section() {
		const heat = heatPlot('heat', list(this.doc.over_time).filter(isObject), lanesOfMessages(this.order), range => this.during(range));
		this.heat = heat;
		const boxes = this.causePlots(), contexts = this.contexts('contexts', 'contexts', 'Who had the cores while messages waited'), queuing = this.queuing();
		const byCore = this.contexts('contexts-cores', 'contexts_by_core', 'Who had which core');
		const balloons = this.balloons();
		const missing = [[boxes[0], 'causes'], [balloons, 'examples of messages'], [queuing[0], 'queuing'], [contexts, 'contexts'],
			[heat, 'latency over time'], [boxes[2], 'causes that are waiting']].filter(([plot]) => !plot).map(([, name]) => name);
		const bar = this.filterBar(), rows = this.messageTable();
		const drawnOnes = this.order.filter(m => records(m.timeline).length);
		const joined = records(object(this.doc.requests).causes).filter(isObject);
		const ofRequests = causeBar({ name: 'requests-bar', title: 'Where the extra time of the slow requests went', causes: joined,
			on: c => this.wantedCauses.has(causeKey(c)), open: c => this.chips.has(causeKey(c)) && this.toggle(c) });
		const bars = causeBar({ name: 'causes-bar', title: 'Where the extra time of the slow messages went', causes: this.causes, on: c => this.wantedCauses.has(causeKey(c)), open: c => this.toggle(c) });
		const flame = flamePlot({ name: 'flame', title: 'The extra time of the slow messages, down to functions', causes: this.causes, functions: this.doc.functions });
		this.filtered = [ofRequests, bars, balloons, ...boxes].filter(Boolean);
		diagnoses.push(this);
		return documentSection(this.entry, 'Diagnosis', [
			together([heat, ofRequests, bars, flame]), this.causeTable(), this.causes.length ? bar : null, together([balloons]),
			el('h3', { class: 'with-tools' }, [`Slow messages (${count(this.examples.length)}${this.omitted ? `, ${count(this.omitted)} more were left out` : ''})`, drawnOnes.length ? el('span', { class: 'tools' }, el('button', {
				type: 'button', class: 'trace', click: () => saveTrace(drawnOnes, 'messages.json') }, `save ${count(drawnOnes.length)} as Chrome trace`)) : null]), rows,
		], [
			verdictOf(this.doc), sentences(list(this.doc.findings), 'findings'), reasonsOf(this.doc), this.head(),
			missing.length ? el('p', { class: 'quiet' }, `This result has no: ${missing.join(', ')}.`) : null,
			together([boxes[0], boxes[1], this.latencies(), contexts, byCore, boxes[2], ...queuing]), this.views(), allFields(this.doc),
		]);
	}
}

const diagnoseSection = entry => new Diagnosis(entry).section();
