"use strict";

(() => {
  // A link to something folded away opens what it is in.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!target) {
      return;
    }
    for (let at = target; at; at = at.parentElement?.closest("details")) {
      at.open = true;
    }
    target.scrollIntoView();
  }

  // On a narrow screen the menu is pushed along, to where the reader is.
  const here = document.querySelector("nav [aria-current]");
  if (here) {
    here.closest("nav").scrollLeft = here.offsetLeft - 60;
  }

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
  for (const plate of document.querySelectorAll("figure.card .plate")) {
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

  window.addEventListener("hashchange", reveal);
  reveal();
})();
