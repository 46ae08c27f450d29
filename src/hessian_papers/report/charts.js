"use strict";

// The numbers behind a picture: its panels drawn again, with the values where one points or slides.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SIZE = { width: 460, height: 270, left: 62, right: 10, top: 8, bottom: 40 };
  const waiting = new Map();

  function draw(name, attributes, parent, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    if (text !== undefined) {
      element.textContent = text;
    }
    parent.append(element);
    return element;
  }

  function add(name, className, parent, text) {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text ?? "";
    parent.append(element);
    return element;
  }

  function raised(digits) {
    return digits.replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  }

  // Six digits, as the numbers of the record have.
  function format(value) {
    const size = Math.abs(value);
    const short = String(Number(value.toPrecision(6)));
    return (size >= 1e6 || (size > 0 && size < 1e-4) ? value.toExponential() : short)
      .replace(/^1e/, "e")
      .replace(/e\+?(-?)(\d+)/, (_, sign, digits) => ` × 10${sign && "⁻"}${raised(digits)}`)
      .replace(/^ × /, "")
      .replace(/-/g, "−");
  }

  // Logarithmic axes leave out what has no logarithm; symmetric ones are linear near zero.
  function transform(scale, values) {
    if (scale === "log") {
      return Math.log10;
    }
    if (scale === "symlog") {
      const sizes = values.map(Math.abs).filter((size) => size > 0);
      const least = Math.max(Math.min(...sizes), Math.max(...sizes) * 1e-8);
      return (value) => Math.asinh(value / least);
    }
    return (value) => value;
  }

  function ticks(scale, low, high) {
    if (scale === "log") {
      const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
      const stride = Math.max(1, Math.ceil((last - first) / 5));
      const powers = [];
      for (let power = first; power <= last; power += stride) {
        powers.push(10 ** power);
      }
      return powers.length > 1 ? powers : [low, high];
    }
    if (scale === "symlog") {
      return [...new Set([low, 0, high])].filter((value) => value >= low && value <= high);
    }
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const stride = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= rough);
    const values = [];
    for (let number = Math.ceil(low / stride); number * stride <= high; number += 1) {
      values.push(Number((number * stride).toPrecision(12)));
    }
    return values;
  }

  function axis(scale, values, from, to) {
    const known = values.filter((value) => Number.isFinite(value) && (scale !== "log" || value > 0));
    let [low, high] = [Math.min(...known), Math.max(...known)];
    if (low === high) {
      [low, high] = scale === "log" ? [low / 2, high * 2] : [low - 1, high + 1];
    }
    const way = transform(scale, known);
    const room = 0.04 * (way(high) - way(low));
    const [first, last] = [way(low) - room, way(high) + room];
    return {
      place: (value) => from + ((way(value) - first) / (last - first)) * (to - from),
      ticks: ticks(scale, low, high),
      shows: (value) => Number.isFinite(value) && (scale !== "log" || value > 0),
    };
  }

  function frame(panel, svg) {
    const { width, height, left, right, top, bottom } = SIZE;
    const level = (name) => panel.thresholds.filter((t) => t.axis === name).map((t) => t.value);
    const all = (name) => panel.bands.flatMap((band) => band[name]).concat(level(name));
    const x = axis(panel.scales[0], panel.curves.flatMap((curve) => curve.x).concat(all("x")), left, width - right);
    const y = axis(
      panel.scales[1],
      panel.curves.flatMap((curve) => curve.y).concat(all("y")),
      height - bottom,
      top,
    );
    for (const value of x.ticks) {
      const at = x.place(value);
      draw("line", { x1: at, x2: at, y1: top, y2: height - bottom, class: "grid" }, svg);
      draw("text", { x: at, y: height - bottom + 14, class: "middle" }, svg, format(value));
    }
    for (const value of y.ticks) {
      const at = y.place(value);
      draw("line", { x1: left, x2: width - right, y1: at, y2: at, class: "grid" }, svg);
      draw("text", { x: left - 5, y: at + 4, class: "end" }, svg, format(value));
    }
    const middle = (top + height - bottom) / 2;
    draw("text", { x: (left + width) / 2, y: height - 6, class: "middle" }, svg, panel.x);
    const turned = { x: 0, y: 0, transform: `translate(12 ${middle}) rotate(-90)` };
    draw("text", { ...turned, class: "middle" }, svg, panel.y);
    return { x, y };
  }

  function path(points, axes) {
    return points
      .map(([x, y], place) => `${place ? "L" : "M"}${axes.x.place(x).toFixed(1)} ${axes.y.place(y).toFixed(1)}`)
      .join("");
  }

  function curves(panel, axes, svg) {
    const { left, right, width, top, bottom, height } = SIZE;
    for (const band of panel.bands) {
      const corners = band.x.map((x, place) => [x, band.y[place]]);
      const inside = corners.filter(([x, y]) => axes.x.shows(x) && axes.y.shows(y));
      draw("path", { d: `${path(inside, axes)}Z`, class: "band" }, svg);
    }
    for (const { axis: name, value } of panel.thresholds) {
      if (axes[name].shows(value)) {
        const at = axes[name].place(value);
        const ends =
          name === "y"
            ? { x1: left, x2: width - right, y1: at, y2: at }
            : { x1: at, x2: at, y1: top, y2: height - bottom };
        draw("line", { ...ends, class: "threshold" }, svg);
      }
    }
    const colours = [...new Set(panel.curves.map((curve) => curve.name))];
    return panel.curves.map((curve) => {
      const points = curve.x
        .map((x, place) => [x, curve.y[place]])
        .filter(([x, y]) => axes.x.shows(x) && axes.y.shows(y));
      const colour = `curve colour-${colours.indexOf(curve.name) % 6}`;
      if (curve.drawn === "line") {
        draw("path", { d: path(points, axes), class: colour }, svg);
      } else {
        for (const [x, y] of points) {
          draw("circle", { cx: axes.x.place(x), cy: axes.y.place(y), r: 2.5, class: colour }, svg);
        }
      }
      const name = curve.name || (curve.drawn === "line" ? "line without a name" : "points");
      return { name, points, colour };
    });
  }

  function nearest(points, distance) {
    return points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
  }

  // A panel: its drawing, and a list of the values at one place of its axis.
  function panelOf(panel, box) {
    const part = add("section", "chart", box);
    add("p", "name", part, panel.title || panel.y);
    const svg = draw("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}` }, part);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${panel.title || ""} ${panel.y} against ${panel.x}`.trim());
    const axes = frame(panel, svg);
    const drawn = curves(panel, axes, svg).filter((curve) => curve.points.length);
    const cursor = draw("line", { y1: SIZE.top, y2: SIZE.height - SIZE.bottom, class: "cursor" }, svg);
    const marks = draw("g", {}, svg);
    const values = add("ul", "values", part);
    const scale = (point, name) => axes[name].place(point[name === "x" ? 0 : 1]);

    function show(x, chosen) {
      const at = axes.x.place(x);
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
      marks.replaceChildren();
      values.replaceChildren();
      for (const curve of drawn) {
        const own = chosen?.curve === curve;
        const point = own
          ? chosen.point
          : nearest(curve.points, (other) => Math.abs(scale(other, "x") - at));
        draw("circle", { cx: scale(point, "x"), cy: scale(point, "y"), r: 4, class: curve.colour }, marks);
        const line = add("li", `${curve.colour}${own ? " chosen" : ""}`, values);
        // A curve may have no number there: its nearest is told with its place.
        const where = point[0] === x ? "" : ` at ${format(point[0])}`;
        line.textContent = `${curve.name}: ${format(point[1])}${where}`;
        line.dataset.x = point[0];
        line.dataset.y = point[1];
      }
    }

    function under(event) {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        svg.getScreenCTM().inverse(),
      );
      const distance = (point) =>
        (scale(point, "x") - place.x) ** 2 + (scale(point, "y") - place.y) ** 2;
      const best = drawn.map((curve) => ({ curve, point: nearest(curve.points, distance) }));
      return nearest(best, (one) => distance(one.point));
    }

    return { svg, show, under, places: drawn.flatMap((curve) => curve.points.map(([x]) => x)) };
  }

  // Panels with the same horizontal axis have one slider.
  function group(name, panels, box) {
    const part = add("div", "charts", box);
    const called = name || "horizontal axis";
    const label = add("label", "", part, `${called}: `);
    const output = add("output", "", label);
    const slider = add("input", "", label);
    const drawn = panels.map((panel) => panelOf(panel, part)).filter((one) => one.places.length);
    const places = [...new Set(drawn.flatMap((one) => one.places))].sort((a, b) => a - b);
    slider.type = "range";
    slider.setAttribute("aria-label", called);
    slider.min = 0;
    slider.max = places.length - 1;
    function move(chosen, at) {
      const x = places[slider.value];
      output.value = format(x);
      slider.setAttribute("aria-valuetext", `${called} ${format(x)}`);
      for (const one of drawn) {
        one.show(x, one === at ? chosen : undefined);
      }
    }
    slider.addEventListener("input", () => move());
    for (const one of drawn) {
      one.svg.addEventListener("pointermove", (event) => {
        const chosen = one.under(event);
        slider.value = places.indexOf(chosen.point[0]);
        move(chosen, one);
      });
    }
    slider.value = Math.floor(places.length / 2);
    move();
  }

  window.showNumbers = (key, panels) => {
    const box = waiting.get(key);
    box.replaceChildren();
    for (const name of new Set(panels.map((panel) => panel.x))) {
      group(name, panels.filter((panel) => panel.x === name), box);
    }
  };

  for (const details of document.querySelectorAll("details.explore")) {
    details.hidden = false;
    details.addEventListener("toggle", () => {
      const { key, numbers } = details.dataset;
      if (!details.open || waiting.has(key)) {
        return;
      }
      waiting.set(key, details.querySelector("div"));
      const script = document.createElement("script");
      script.src = numbers;
      script.addEventListener("error", () => {
        waiting.get(key).textContent = `The numbers are missing beside this page: ${numbers}`;
      });
      document.head.append(script);
    });
  }
})();
