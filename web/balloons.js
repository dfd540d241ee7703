// SPDX-License-Identifier: Apache-2.0
// Each slow message by its causes: the larger a balloon, the more of the message's excess it is.
const BALLOON_MAX = 9;

// messages: {message, at, latency, shares: [{part, share, style}]}, in the order of arrival
function balloonPlot(name, messages, options) {
	let byTime = false;
	const button = el('button', { type: 'button', 'aria-pressed': 'false', click: () => {
		byTime = !byTime;
		button.setAttribute('aria-pressed', String(byTime));
		plot.update();
	} }, 'by time');
	const timed = messages.every(m => m.at !== null);
	const plot = new Plot({
		name, wide: true, title: 'Slow messages by cause', tools: timed ? button : null, legend: options.legend,
		note: `${count(messages.length)} messages in the order of arrival; click one for its timeline`,
		height: w => Math.min(420, Math.max(260, w * 0.3)),
		gutter: { left: 62, right: 14, top: 12, bottom: 34 },
		draw: p => drawBalloons(p, messages, options, byTime && timed),
	});
	return messages.length ? plot : null;
}

function drawBalloons(p, messages, options, byTime) {
	const [lo, hi] = logRange(messages.map(m => m.latency).filter(v => v !== null));
	const y = logarithmic(lo, hi, p.bottom, p.top);
	const last = messages.length - 1;
	const x = byTime ? linear(messages[0].at, messages[last].at, p.left + 8, p.right - 8) :
		linear(0, Math.max(1, last), p.left + 8, p.right - 8);
	p.yAxis(y, tickTime, null);
	const axis = byTime ? linear(0, messages[last].at - messages[0].at, p.left + 8, p.right - 8) : x;
	p.xAxis(axis, v => byTime ? tickTime(v) : Number.isInteger(v) ? count(v + 1) : '',
		byTime ? 'time of arrival, from the first' : 'message, in the order of arrival', false);
	const places = messages.map((m, i) => ({ x: x(byTime ? m.at : i), y: y(m.latency === null ? lo : m.latency), m, i }));
	paintBalloons(p, places, options);
	let current = -1;
	const put = i => {
		current = Math.max(0, Math.min(last, i));
		const at = places[current];
		return {
			x: at.x, y: at.y, message: at.m, words: balloonWords(at.m),
			marks: [svg('circle', { class: 'ring', cx: at.x, cy: at.y, r: BALLOON_MAX + 2 })],
		};
	};
	p.follow((px, py) => {
		const found = nearest(places, px, py, options.visible);
		return found === null ? null : put(found);
	}, n => put(Number.isFinite(n) ? current + n : n < 0 ? 0 : last), found => options.open(found.message.message));
}

const balloonWords = m => [`message ${text(m.message.id)}: ${duration(m.latency)}`,
	...m.shares.slice(0, 4).map(s => `${causeName(s.part)} ${duration(s.part.ns)}`)].join('\n');

function paintBalloons(p, places, options) {
	p.paint(context => {
		const colours = [...Array(10).keys()].map(n => computed(`--c${n}`));
		const small = places.length > 2000 ? 0.6 : 1;
		p.marks = 0;
		context.globalAlpha = places.length > 500 ? 0.55 : 0.75;
		for (const { x, y, m } of places) {
			if (!options.visible(m))
				continue;
			// The largest first: the others stay visible on it.
			for (const s of m.shares) {
				if (!options.wanted(s.part))
					continue;
				const r = Math.max(1.2, BALLOON_MAX * small * Math.sqrt(s.share));
				context.fillStyle = colours[s.style.colour];
				paintShape(context, s.style.shape, x, y, r);
				p.marks++;
			}
		}
	});
}

// A path's text takes longer to read than the simple ones to draw.
function paintShape(context, shape, x, y, r) {
	if (shape === 'square' || shape === 'bar' || r < 2.5) {
		context.fillRect(x - r * 0.89, y - r * (shape === 'bar' ? 0.42 : 0.89), r * 1.78, r * (shape === 'bar' ? 0.84 : 1.78));
	} else if (shape === 'circle') {
		context.beginPath();
		context.arc(x, y, r, 0, 2 * Math.PI);
		context.fill();
	} else {
		context.fill(new Path2D(shapePath(shape, x, y, r)));
	}
}

function nearest(places, px, py, visible) {
	let lo = 0, hi = places.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (places[mid].x < px - 14)
			lo = mid + 1;
		else
			hi = mid;
	}
	let best = null, least = 14 * 14;
	for (let i = lo; i < places.length && places[i].x <= px + 14; i++) {
		const d = (places[i].x - px) ** 2 + (places[i].y - py) ** 2;
		if (d < least && visible(places[i].m)) {
			least = d;
			best = i;
		}
	}
	return best;
}
