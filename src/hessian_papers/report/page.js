"use strict";

(() => {
  const form = document.getElementById("filter");
  const search = document.getElementById("filter-text");
  const selects = [...form.querySelectorAll("select")];
  const count = document.getElementById("filter-count");
  const empty = document.getElementById("filter-empty");
  const links = new Map(
    [...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]),
  );
  const papers = [...document.querySelectorAll("section.paper")];

  // Read when first asked for: a text never changes, and reading it at each key stroke is slow.
  let entries = null;
  function read() {
    entries ??= papers.flatMap((paper) =>
      [...paper.querySelectorAll("details.entry")].map((entry) => {
        const title = entry.querySelector("summary").textContent;
        const name = plain(`${entry.dataset.paper} ${entry.dataset.name}`);
        const head = `${name} ${plain(title)}`;
        const claims = [...entry.querySelectorAll(".claims > li")];
        return {
          paper,
          entry,
          head,
          name,
          claims: claims.map((claim) => [claim, `${head} ${plain(claim.textContent)}`]),
        };
      }),
    );
    return entries;
  }

  // Indices are set as such on the page: λ_max is found as it would be typed.
  function plain(text) {
    return text.toLowerCase().replace(/[_^{}]/g, "").replace(/\s+/g, " ").trim();
  }

  // A number is found as a whole: "figure 4" is not Figure 14 or 40.
  function pattern(words) {
    const escaped = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const before = /^\d/.test(words) ? "(?<![\\d.])" : "";
    const after = /\d$/.test(words) ? "(?![\\d])" : "";
    return new RegExp(before + escaped + after);
  }

  function apply() {
    const typed = plain(search.value);
    const chosen = selects.filter((select) => select.value);
    const active = typed !== "" || chosen.length > 0;
    const phrase = pattern(typed);
    const words = typed.split(" ").filter(Boolean).map(pattern);
    const has = (claim) => (select) => {
      const field = select.dataset.field;
      if (field === "verdict") {
        return claim.querySelector(".badge").textContent === select.value;
      }
      return claim.dataset[field].split("|").includes(select.value);
    };
    // What names a figure finds that figure, all of it; other words are looked for in claims.
    const named = typed !== "" && read().some(({ name }) => phrase.test(name));
    const shown = { figures: 0, claims: 0, all: 0 };
    for (const { entry, head, name, claims } of read()) {
      const whole = named ? phrase.test(name) : words.every((word) => word.test(head));
      let found = 0;
      for (const [claim, text] of claims) {
        const fits = named ? whole : words.every((word) => word.test(text));
        claim.hidden = !fits || !chosen.every(has(claim));
        found += claim.hidden ? 0 : 1;
      }
      entry.hidden = active && found === 0 && (!whole || chosen.length > 0);
      // Of what is found by its claims, these alone are shown.
      const was = entry.classList.contains("narrowed");
      const narrowed = active && !entry.hidden && (!whole || chosen.length > 0);
      // What a reader has opened stays open.
      if (entry.classList.toggle("narrowed", narrowed) !== was) {
        entry.open = narrowed;
      }
      shown.figures += entry.hidden ? 0 : 1;
      shown.claims += found;
      shown.all += claims.length;
      const link = links.get(entry.id);
      if (link) {
        link.parentElement.hidden = entry.hidden;
      }
    }
    for (const paper of papers) {
      paper.hidden = !read().some((one) => one.paper === paper && !one.entry.hidden);
    }
    count.value = `${shown.claims} of ${shown.all} statements, ${shown.figures} figures`;
    empty.hidden = shown.figures > 0;
    if (active) {
      unfold();
    }
  }

  // The contents show where figures were found, else where one reads.
  function unfold() {
    for (const list of document.querySelectorAll("nav details")) {
      list.open = list.querySelector("li li:not([hidden]), ul li:not([hidden])") !== null;
    }
  }

  function clear() {
    search.value = "";
    for (const select of selects) {
      select.value = "";
    }
  }

  function showAll() {
    clear();
    apply();
  }

  // A link to something folded away opens what it is in.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!target) {
      return;
    }
    if (target.closest("[hidden]")) {
      showAll();
    }
    for (let at = target; at; at = at.parentElement?.closest("details")) {
      at.open = true;
    }
    target.scrollIntoView();
  }

  // The first of the contents whose place is above the middle of the screen is where one reads.
  function mark() {
    let here = null;
    for (const [id, link] of links) {
      const place = document.getElementById(id);
      if (place && !place.hidden && place.getBoundingClientRect().top < window.innerHeight / 3) {
        here = link;
      }
      link.removeAttribute("aria-current");
    }
    if (!here) {
      return;
    }
    here.setAttribute("aria-current", "true");
    const list = here.closest("nav details");
    if (list && !list.open) {
      list.open = true;
    }
    const nav = document.querySelector("nav");
    if (nav.scrollHeight > nav.clientHeight) {
      nav.scrollTop += here.getBoundingClientRect().top - nav.clientHeight / 2;
    }
  }

  let waiting = false;
  window.addEventListener(
    "scroll",
    () => {
      if (!waiting) {
        waiting = true;
        window.requestAnimationFrame(() => {
          waiting = false;
          mark();
        });
      }
    },
    { passive: true },
  );

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.querySelector("details.entry:not([hidden])")?.setAttribute("open", "");
  });
  // A reset of the browser's own empties the fields after the event: the page would show for a moment
  // what no longer stands in them.
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    showAll();
  });
  for (const link of document.querySelectorAll("[data-show]")) {
    link.addEventListener("click", () => {
      clear();
      document.getElementById(`filter-${link.dataset.field}`).value = link.dataset.show;
      apply();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input, select")) {
      event.preventDefault();
      search.focus();
    }
  });
  window.addEventListener("hashchange", reveal);

  // A page from disk may not write to the clipboard unasked: then the line is selected.
  for (const line of document.querySelectorAll(".commands code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    line.after(" ", button);
    button.addEventListener("click", async () => {
      window.getSelection().selectAllChildren(line);
      try {
        await navigator.clipboard.writeText(line.textContent);
      } catch {
        document.execCommand("copy");
      }
      button.textContent = "copied";
      window.setTimeout(() => {
        button.textContent = "copy";
      }, 1500);
    });
  }

  const enlarged = document.getElementById("enlarged");
  for (const plate of document.querySelectorAll(".plate")) {
    plate.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) {
        return;
      }
      event.preventDefault();
      const image = plate.querySelector("img");
      enlarged.querySelector("img").src = plate.href ?? image.src;
      enlarged.querySelector("img").alt = image.alt;
      enlarged.showModal();
    });
  }
  enlarged.addEventListener("click", (event) => {
    if (event.target.tagName !== "BUTTON") {
      enlarged.close();
    }
  });

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

  reveal();
  mark();
})();
