"use strict";

(() => {
  const form = document.getElementById("filter");
  const search = document.getElementById("filter-text");
  const selects = [...form.querySelectorAll("select")];
  const count = document.getElementById("filter-count");
  const empty = document.getElementById("filter-empty");
  const rows = [...document.querySelectorAll("#claims tbody tr")];
  // Read once: a row's text never changes, and reading it again at each key stroke is slow.
  const texts = new Map(rows.map((row) => [row, plain(row.textContent)]));

  // Indices are set as such on the page: λ_max is found as it would be typed.
  function plain(text) {
    return text.toLowerCase().replace(/[_^{}]/g, "");
  }

  function matches(row, words) {
    const has = (select) => row.dataset[select.dataset.field].split("|").includes(select.value);
    return (
      selects.every((select) => !select.value || has(select)) &&
      words.every((word) => texts.get(row).includes(word))
    );
  }

  function apply() {
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !matches(row, words);
      shown += row.hidden ? 0 : 1;
    }
    count.value = `${shown} of ${rows.length} entries`;
    empty.hidden = shown > 0;
  }

  function showAll() {
    form.reset();
    apply();
  }

  // A link to a claim shows its row and what is folded away in it.
  function reveal() {
    const row = rows.find((candidate) => `#${candidate.id}` === window.location.hash);
    if (!row) {
      return;
    }
    if (row.hidden) {
      showAll();
    }
    row.querySelector("details").open = true;
    row.scrollIntoView();
  }

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  // The fields are empty only after the event.
  form.addEventListener("reset", () => window.setTimeout(apply));
  for (const link of document.querySelectorAll("[data-show]")) {
    link.addEventListener("click", () => {
      form.reset();
      document.getElementById(`filter-${link.dataset.field}`).value = link.dataset.show;
      apply();
    });
  }
  window.addEventListener("hashchange", reveal);

  // Paper has nothing to unfold.
  const folded = new Set();
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      folded.add(details);
      details.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of folded) {
      details.open = false;
    }
    folded.clear();
  });

  apply();
  reveal();
})();
