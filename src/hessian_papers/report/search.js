"use strict";

// Search over all papers: what names a figure comes first, other words add and never hide.
(() => {
  const index = () => window.searchIndex;
  const form = document.getElementById("search");
  const field = document.getElementById("search-text");
  const verdict = document.getElementById("search-verdict");
  const panel = document.getElementById("results");
  const count = document.getElementById("results-count");
  const list = document.getElementById("results-list");
  const FIGURES = 12;
  const STATEMENTS = 24;
  const PLACES = 6;
  // How much a word counts where it stands.
  const WEIGHTS = { artifact: 30, name: 12, title: 16, settings: 3, caption: 2 };
  // A phrase as a whole counts so many times more than its words, a synonym so much less.
  const WHOLE = 4;
  const SYNONYM = 0.6;

  // Indices are set as such on the page: λ_max is found as it would be typed.
  function plain(text) {
    return text.toLowerCase().replace(/[_^{}]/g, "").replace(/\s+/g, " ").trim();
  }

  // A word begins where it is found, and a number is found as a whole: "figure 4" is not Figure 14 or 40.
  function pattern(words) {
    const escaped = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const before = /^\d/.test(words) ? "(?<![\\d.])" : /^\w/.test(words) ? "(?<!\\w)" : "";
    const after = /\d$/.test(words) ? "(?![\\d])" : "";
    return new RegExp(before + escaped + after);
  }

  // The ways to say a phrase: itself, and with each synonym in it replaced.
  function ways(phrase) {
    const others = [];
    for (const group of index().synonyms.map((words) => words.map(plain))) {
      for (const word of group) {
        if (pattern(word).test(phrase)) {
          others.push(...group.filter((other) => other !== word).map((other) => phrase.replace(word, other)));
        }
      }
    }
    const said = [...new Set(others)].filter((other) => other !== phrase);
    return [[pattern(phrase), 1], ...said.map((other) => [pattern(other), SYNONYM])];
  }

  let texts = null;
  function read() {
    const fields = (entry) =>
      Object.fromEntries(Object.keys(WEIGHTS).map((name) => [name, plain(entry[name] ?? "")]));
    texts ??= {
      figures: index().figures.map((entry) => [entry, fields(entry)]),
      statements: index().statements.map((entry) => [entry, fields(entry)]),
      // A document that has all may lack a section.
      places: index()
        .places.filter(({ href }) => !href.startsWith("#") || document.querySelector(href))
        .map((entry) => [entry, fields(entry)]),
    };
    return texts;
  }

  function score(fields, said) {
    let best = 0;
    for (const [words, factor] of said) {
      for (const [name, weight] of Object.entries(WEIGHTS)) {
        best = Math.max(best, words.test(fields[name]) ? weight * factor : 0);
      }
    }
    return best;
  }

  // A text is found if it has the phrase, or each of its words.
  function rate(fields, phrase, words) {
    const whole = score(fields, phrase) * WHOLE;
    const each = words.map((said) => score(fields, said));
    const all = each.every(Boolean) ? each.reduce((sum, part) => sum + part, 0) / each.length : 0;
    return Math.max(whole, all);
  }

  function find(typed, chosen) {
    const phrase = ways(typed);
    const words = typed.split(" ").map(ways);
    const fit = (fields) => (typed === "" ? 1 : rate(fields, phrase, words));
    const statements = [];
    const ofFigure = new Map();
    for (const [entry, fields] of read().statements) {
      // What is ours comes after what the papers say.
      const share = entry.ours ? 0.5 : 1;
      const rated = chosen === "" || entry.verdict === chosen ? share * fit(fields) : 0;
      if (rated > 0) {
        statements.push([rated, entry]);
        for (const place of entry.figures) {
          ofFigure.set(place, (ofFigure.get(place) ?? 0) + rated);
        }
      }
    }
    // What a figure's statements say finds the figure as well, the more the more of them say it.
    const figures = read().figures.map(([entry, fields], place) => {
      const more = ofFigure.get(place) ?? 0;
      const own = chosen === "" ? fit(fields) : 0;
      return [own + (more > 0 ? 8 * Math.log1p(more) : 0), entry];
    });
    const places = read().places.map(([entry, fields]) => [chosen === "" && typed ? fit(fields) : 0, entry]);
    const order = (entries) => entries.filter(([rating]) => rating > 0).sort((a, b) => b[0] - a[0]);
    return { figures: order(figures), statements: order(statements), places: order(places) };
  }

  function item(entry) {
    const row = document.createElement("li");
    const link = document.createElement("a");
    link.href = form.dataset.root + entry.href;
    const figure = entry.verdict ? index().figures[entry.figures[0]] : entry;
    if (figure && "image" in figure) {
      const image = document.createElement("img");
      image.alt = "";
      image.loading = "lazy";
      // A document with all pictures inside has each once.
      image.src = figure.image
        ? form.dataset.root + figure.image
        : document.querySelector(`${figure.href} img`).src;
      link.append(image);
    }
    const text = document.createElement("span");
    const name = document.createElement("b");
    name.textContent = entry.verdict ?? [entry.artifact, entry.paper].filter(Boolean).join(", ");
    if (entry.verdict) {
      name.className = `badge ${entry.verdict.replace(" ", "-")}`;
    }
    text.append(name, entry.ours ? " beyond the papers:" : "", ` ${entry.title}${entry.artifact === "Symbol" ? `: ${entry.name}` : ""}`);
    link.append(text);
    row.append(link);
    return row;
  }

  function show() {
    const typed = plain(field.value);
    panel.hidden = typed === "" && verdict.value === "";
    state();
    if (panel.hidden) {
      return;
    }
    const results = find(typed, verdict.value);
    const many = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
    const { figures, statements, places } = results;
    const elsewhere = places.length > 0 ? `, ${many(places.length, "other place")}` : "";
    const ours = statements.filter(([, entry]) => entry.ours).length;
    const said = many(statements.length - ours, "statement");
    const apart = ours > 0 ? ` and ${ours} of ours` : "";
    count.textContent = `${many(figures.length, "figure")}, ${said}${apart}${elsewhere}`;
    const first = [...places.slice(0, PLACES), ...figures.slice(0, FIGURES)].sort((a, b) => b[0] - a[0]);
    // What a symbol means stands near the top, however many pictures have it.
    const meaning = first.findIndex(([, entry]) => !("image" in entry));
    if (meaning > 2) {
      first.splice(2, 0, ...first.splice(meaning, 1));
    }
    const best = [...first, ...statements.slice(0, STATEMENTS)];
    list.replaceChildren(...best.map(([, entry]) => item(entry)));
  }

  // What was searched stands in the address; a page from disk may change no other part of it.
  function state() {
    const now = new URLSearchParams();
    const fields = { q: field.value.trim(), verdict: verdict.value };
    for (const [name, value] of Object.entries(fields).filter(([, value]) => value)) {
      now.set(name, value);
    }
    if (now.toString() || searched()) {
      window.history.replaceState(null, "", `#${now}`);
    }
  }

  function searched() {
    const said = new URLSearchParams(window.location.hash.slice(1));
    return said.has("q") || said.has("verdict") ? said : null;
  }

  function restore() {
    const said = searched();
    if (said) {
      field.value = said.get("q") ?? "";
      verdict.value = said.get("verdict") ?? "";
      show();
    }
  }

  function start() {
    if (!index()) {
      return;
    }
    form.hidden = false;
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      list.querySelector("a")?.focus();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.matches("input, select")) {
        event.preventDefault();
        field.focus();
      } else if (event.key === "Escape" && !panel.hidden) {
        field.value = "";
        verdict.value = "";
        show();
        field.focus();
      }
    });
    list.addEventListener("click", (event) => {
      if (event.target.closest("a")) {
        panel.hidden = true;
      }
    });
    window.addEventListener("hashchange", restore);
    restore();
  }

  if (index()) {
    start();
  } else {
    window.addEventListener("DOMContentLoaded", start);
  }
})();
