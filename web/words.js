// SPDX-License-Identifier: Apache-2.0
// The glossary, as `hostlat help WORD` has it: a word's meanings are shown over it, and its remedy is on the card.
const WORDS = new Map();
// Fields whose values are words of the glossary; elsewhere the same letters may be a name.
const WORD_FIELDS = new Set(['cause', 'class', 'limit', 'code', 'reason', 'stage', 'what', 'term']);

function readWords(rows) {
	for (const [name, kind, phrase, what, effect, todo] of list(rows).filter(Array.isArray)) {
		if (!WORDS.has(name))
			WORDS.set(name, []);
		WORDS.get(name).push({ name, kind, phrase, what, effect, todo });
	}
}

// The word that is shown with the place of its cause behind it.
const wordOf = shownWord => [text(shownWord), text(shownWord).replace(/ \([^)]*\)$/, '')].find(w => WORDS.has(w)) || null;
const sentence = words => words ? `${words[0].toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? '' : '.'}` : '';

const wordTip = name => WORDS.get(name).map(w => [`${name}: ${text(w.kind)}`,
	[sentence(w.phrase), text(w.what)].filter(Boolean).join(' '), text(w.effect), w.todo ? `To do: ${w.todo}` : ''].filter(Boolean).join('\n')).join('\n\n');

const remedy = name => WORDS.has(name) ? text((WORDS.get(name).find(w => w.todo) || {}).todo) : '';

// An element whose word is explained when the pointer or the keyboard is on it.
const term = (name, shownWords) => el('span', wordOf(name) ? { 'data-word': wordOf(name), tabindex: 0, class: 'term' } : null, shownWords || name);

function explainWords() {
	const over = e => {
		const node = e.target instanceof Element ? e.target.closest('[data-word]') : null;
		if (!node || !WORDS.has(node.dataset.word))
			return;
		const box = node.getBoundingClientRect();
		showTip(wordTip(node.dataset.word), box.left, box.bottom - 12);
		node.addEventListener(e.type === 'focusin' ? 'blur' : 'pointerleave', hideTip, { once: true });
	};
	document.addEventListener('pointerover', over);
	document.addEventListener('focusin', over);
}
