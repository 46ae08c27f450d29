"use strict";

// Three theorems beside brute force: all eigenvalues by the closed form, and of the whole Hessian,
// which is put together sample by sample and diagonalised by Jacobi's rotations. Of one input, also
// gradient descent as it follows from its start, beside that of the network itself.
(() => {
  const $ = (id) => document.getElementById(`playground-${id}`);
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const zeros = (n) => Array.from({ length: n }, () => new Float64Array(n));
  const ascending = (values) => [...values].sort((a, b) => a - b);

  // The eigenvalues of a symmetric matrix, ascending; the matrix is used up.
  function eigenvalues(a) {
    const n = a.length;
    const size = Math.sqrt(a.reduce((sum, row) => sum + dot(row, row), 0));
    for (let sweep = 0; sweep < 60; sweep += 1) {
      let off = 0;
      for (let p = 0; p < n; p += 1) {
        for (let q = p + 1; q < n; q += 1) {
          off = Math.max(off, Math.abs(a[p][q]));
          rotate(a, p, q);
        }
      }
      if (off <= 1e-17 * size) {
        break;
      }
    }
    return ascending(a.map((row, i) => row[i]));
  }

  // Make the entry (p, q) zero.
  function rotate(a, p, q) {
    if (a[p][q] === 0) {
      return;
    }
    const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1));
    const c = 1 / Math.hypot(t, 1);
    const s = t * c;
    for (const row of a) {
      const [x, y] = [row[p], row[q]];
      row[p] = c * x - s * y;
      row[q] = s * x + c * y;
    }
    for (let k = 0; k < a.length; k += 1) {
      const [x, y] = [a[p][k], a[q][k]];
      a[p][k] = c * x - s * y;
      a[q][k] = s * x + c * y;
    }
  }

  // Two orthonormal directions of any length, always the same; of one number both are that number.
  function directions(m) {
    let seed = 12345;
    const draw = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed / 2147483648 - 0.5;
    };
    const first = Array.from({ length: m }, draw);
    const norm = Math.sqrt(dot(first, first));
    const u = first.map((value) => value / norm);
    if (m === 1) {
      return [u, u];
    }
    const second = Array.from({ length: m }, draw);
    const along = dot(second, u);
    const rest = second.map((value, i) => value - along * u[i]);
    const length = Math.sqrt(dot(rest, rest));
    return [u, rest.map((value) => value / length)];
  }

  // Two vectors with given norms and angle; in one dimension the angle is 0 or 180 degrees.
  function vectors(m, first, second, degrees) {
    const [u, other] = directions(m);
    const angle = (degrees * Math.PI) / 180;
    const cosine = m === 1 ? (degrees > 90 ? -1 : 1) : Math.cos(angle);
    const sine = m === 1 ? 0 : Math.sin(angle);
    return [
      u.map((value) => first * value),
      u.map((value, i) => second * (cosine * value + sine * other[i])),
    ];
  }

  // Samples with mean square 1, and what is added to the targets.
  const INPUTS = [-1.6, -1.1, -0.7, -0.2, 0.3, 0.8, 1.2, 1.5];
  const NOISE = [0.3, -0.2, 0.1, -0.4, 0.2, 0.3, -0.1, -0.2];
  const UNIT = Math.sqrt(dot(INPUTS, INPUTS) / INPUTS.length);

  // The samples of a chosen mean square, with targets of a slope that may depend on the input.
  function samplesOf(moment, slope) {
    const x = INPUTS.map((value) => (value / UNIT) * Math.sqrt(moment));
    return [x, x.map((value, i) => slope(value) * value + NOISE[i])];
  }

  // (2): the sum of three squares, none of which cancels.
  function outliers(w2, v2, inner, moment, product, printed) {
    const trace = moment * (w2 + v2);
    const last = printed ? 2 * inner - product : 2 * inner * moment - product;
    const root = Math.sqrt(
      moment ** 2 * ((w2 - v2) ** 2 + 4 * Math.max(w2 * v2 - inner ** 2, 0)) + 4 * last ** 2,
    );
    return [(trace + root) / 2, (trace - root) / 2];
  }

  // The mean over samples of J J' + (f - y) F'', where F'' couples each v_j with its w_j.
  function hessian(m, samples) {
    const h = zeros(2 * m);
    for (const { gradient, residual, coupling } of samples) {
      for (let i = 0; i < 2 * m; i += 1) {
        for (let j = 0; j < 2 * m; j += 1) {
          h[i][j] += (gradient[i] * gradient[j]) / samples.length;
        }
      }
      for (let j = 0; j < m; j += 1) {
        const both = (residual * coupling[j]) / samples.length;
        h[j][m + j] += both;
        h[m + j][j] += both;
      }
    }
    return h;
  }

  // Both kinds of one input: signs of the cells, whose units are linear on the same samples.
  const SIDES = { linear: [0], relu: [1, -1] };
  const within = (sign, value) => sign === 0 || value * sign > 0;

  // The cells of a network: which units each one has, and the moments of the inputs that it sees.
  function cellsOf(signs, v, x, y) {
    return signs.map((sign) => {
      const inside = x.map((value) => (within(sign, value) ? value : 0));
      const [squares, product] = [dot(inside, inside) / x.length, dot(inside, y) / x.length];
      return { sign, squares, product, units: members(sign, v) };
    });
  }

  const members = (sign, v) => v.map((_, j) => j).filter((j) => within(sign, v[j]));

  // All eigenvalues of a network Σ w_j max(v_j x, 0), or Σ w_j v_j x, cell by cell and by brute force.
  function ofOneInput(signs, [w, v], [x, y], printed) {
    const seen = (j, value) => signs[0] === 0 || v[j] * value > 0;
    const hidden = (j, value) => (seen(j, value) ? v[j] * value : 0);
    const output = (value) => w.reduce((sum, weight, j) => sum + weight * hidden(j, value), 0);
    const samples = x.map((value, i) => ({
      gradient: [
        ...w.map((weight, j) => (seen(j, value) ? weight * value : 0)),
        ...v.map((_, j) => hidden(j, value)),
      ],
      residual: output(value) - y[i],
      coupling: Float64Array.from(w, (_, j) => (seen(j, value) ? value : 0)),
    }));
    const [theorem, labels] = [[], []];
    const slopes = new Float64Array(w.length);
    const cells = cellsOf(signs, v, x, y);
    for (const { sign, squares, product, units } of cells.filter((cell) => cell.units.length > 0)) {
      const [ws, vs] = [units.map((j) => w[j]), units.map((j) => v[j])];
      const inner = dot(ws, vs);
      const dx = inner * squares - product;
      const pair = outliers(dot(ws, ws), dot(vs, vs), inner, squares, product, printed);
      const bulk = units.slice(1).flatMap(() => [dx, -dx]);
      theorem.push(...[...pair, ...bulk].map((value) => [value, sign]));
      labels.push([pair[0], `Λ₁${{ "1": "⁺", "-1": "⁻" }[sign] ?? ""}`]);
      if (sign === 0) {
        labels.push([pair[1], "Λ₂"], ...(units.length > 1 ? [[dx, "δx"], [-dx, "−δx"]] : []));
      }
      for (const j of units) {
        slopes[j] = dx;
      }
    }
    theorem.sort((a, b) => a[0] - b[0]);
    return {
      theorem: theorem.map(([value]) => value),
      cells: theorem.map(([, sign]) => ({ "1": "plus", "-1": "minus" })[sign] ?? ""),
      brute: eigenvalues(hessian(w.length, samples)),
      labels,
      weights: [w, v],
      data: { w, v, x, y },
      slopes,
      loss: samples.reduce((sum, { residual }) => sum + residual ** 2, 0) / (2 * x.length),
    };
  }

  // λ₁ and δx of a cell, of its p = |w + v| / √2 and q = |w − v| / √2 and the moments alone.
  function ofNumbers({ p, q, squares, product }) {
    const dx = (squares * (p * p - q * q)) / 2 - product;
    const large = Math.hypot(dx + (squares * (p * p - q * q)) / 2, squares * p * q);
    return { dx, sharpness: (squares * (p * p + q * q)) / 2 + large };
  }

  const LONGEST = 400;

  // All of gradient descent from its start, without a network: a step multiplies p of a cell by
  // 1 − η δx and q by 1 + η δx, and so it does with w_j + v_j and w_j − v_j of each unit. A unit
  // whose v changes sign goes to the other cell, and their numbers are added up anew.
  function predict(signs, { w, v, x, y }, rate) {
    let both = w.map((weight, j) => [(weight + v[j]) / Math.SQRT2, (weight - v[j]) / Math.SQRT2]);
    const grouped = () => {
      const first = both.map(([plus, minus]) => plus - minus);
      return cellsOf(signs, first, x, y).map((cell) => {
        const [p, q] = [0, 1].map((k) => Math.hypot(...cell.units.map((j) => both[j][k])));
        return { ...cell, p, q, factors: [1, 1] };
      });
    };
    const moved = ({ sign, units, factors: [plus, minus] }) =>
      units.some((j) => !within(sign, plus * both[j][0] - minus * both[j][1]));
    let cells = grouped();
    // What no weights can fit.
    const fits = x.map((value) => {
      const { product, squares } = cells.find(({ sign }) => within(sign, value));
      return (product / squares) * value;
    });
    const least = y.reduce((sum, value, i) => sum + (value - fits[i]) ** 2, 0) / (2 * y.length);
    const result = { sharpness: [], loss: [], moves: [], flow: flowEnd(cells, moved) };
    for (let step = 0; step <= LONGEST; step += 1) {
      const now = cells.map(ofNumbers);
      const used = now.filter((_, k) => cells[k].units.length > 0);
      const above = now.reduce((sum, { dx }, k) => sum + dx ** 2 / (2 * cells[k].squares), 0);
      result.sharpness.push(Math.max(...used.map(({ sharpness }) => sharpness)));
      result.loss.push(least + above);
      if (ended(least + above, used.map(({ dx }) => dx))) {
        break;
      }
      cells.forEach((cell, k) => {
        const factors = [1 - rate * now[k].dx, 1 + rate * now[k].dx];
        cell.factors = cell.factors.map((factor, i) => factor * factors[i]);
        cell.p *= factors[0];
        cell.q *= factors[1];
      });
      if (cells.some(moved)) {
        for (const { units, factors } of cells) {
          units.forEach((j) => (both[j] = both[j].map((number, i) => number * factors[i])));
        }
        cells = grouped();
        result.moves.push(step + 1);
      }
    }
    return result;
  }

  // The largest λ₁ that gradient flow ends at, 2 √(E[yx]² + σ⁴p²q²) as p q stays; without the side
  // that the targets need it ends at the saddle p = q = 0. None where a unit changes cell on the way.
  function flowEnd(cells, moved) {
    const ends = cells.filter(({ units }) => units.length > 0).map((cell) => {
      const { p, q, squares, product } = cell;
      const root = Math.hypot(product / squares, p * q);
      const target = [root + product / squares, root - product / squares].map((end) => Math.max(end, 0));
      const stuck = product !== 0 && (product > 0 ? p : q) === 0;
      const factors = [Math.sqrt(target[0]) / p || 0, Math.sqrt(target[1]) / q || 0];
      const leaves = !stuck && moved({ ...cell, factors });
      return leaves ? NaN : stuck ? Math.abs(product) : 2 * squares * root;
    });
    return Math.max(...ends);
  }

  const ended = (loss, slopes) => !(loss < 1e12) || Math.max(...slopes.map(Math.abs)) < 1e-12;

  const linear = {
    controls: [
      ["width", "width m", 1, 30, 1, 8],
      ["moment", "mean square of the inputs, σ²", 0.1, 3, 0.05, 1.5],
      ["second", "norm of w", 0, 2, 0.02, 1],
      ["first", "norm of v", 0, 2, 0.02, 1.2],
      ["angle", "angle between w and v, degrees", 0, 180, 1, 60],
      ["target", "slope of the targets", -2, 2, 0.05, 1],
      ["rate", "learning rate η", 0.01, 1, 0.01, 0.3],
    ],
    state({ width, moment, second, first, angle, target, printed }, weights) {
      const chosen = weights ?? vectors(width, second, first, angle);
      return ofOneInput(SIDES.linear, chosen, samplesOf(moment, () => target), printed);
    },
  };

  const relu = {
    controls: [
      ["width", "width m", 2, 20, 1, 8],
      ["active", "fraction of neurons with v > 0", 0, 1, 0.05, 0.6],
      ["moment", "mean square of the inputs", 0.1, 3, 0.05, 1.5],
      ["second", "norm of w", 0.1, 2, 0.02, 1],
      ["first", "norm of v", 0.1, 2, 0.02, 1.2],
      ["right", "slope of the targets for x > 0", -2, 2, 0.05, 1],
      ["left", "slope of the targets for x < 0", -2, 2, 0.05, -0.5],
      ["rate", "learning rate η", 0.01, 1, 0.01, 0.3],
    ],
    state({ width, active, moment, second, first, right, left }, weights) {
      const [u, other] = directions(width);
      const count = Math.round(active * width);
      const w = u.map((value) => second * value);
      const v = other.map((value, j) => first * Math.abs(value) * (j < count ? 1 : -1));
      const samples = samplesOf(moment, (value) => (value > 0 ? right : left));
      return ofOneInput(SIDES.relu, weights ?? [w, v], samples, false);
    },
  };

  const attention = {
    controls: [
      ["width", "key dimension", 1, 15, 1, 6],
      ["value", "weight of the values, w_V", -2, 2, 0.02, 1],
      ["second", "norm of w_Q", 0, 3, 0.02, 1.2],
      ["first", "norm of w_K", 0, 3, 0.02, 1.2],
      ["angle", "angle between w_Q and w_K, degrees", 0, 180, 1, 60],
      ["sink", "bias of the first token: an attention sink", 0, 6, 0.1, 0],
    ],
    state({ width, value, second, first, angle, sink }) {
      const [query, key] = vectors(width, second, first, angle);
      const x = [[0.9, -0.4, 1.3, -1.1], [-0.7, 0.5, 1.1, 0.2]];
      const y = [[0.5, 0.1, -0.6, 0.3], [0.2, -0.4, 0.7, 0.1]];
      const score = dot(query, key) / Math.sqrt(width);
      const tokens = x.flatMap((row, b) =>
        row.map((token, i) => ({ ...responses(token, row, score, sink), target: y[b][i] })),
      );
      const mean = (of) => tokens.reduce((sum, token) => sum + of(token), 0) / tokens.length;
      const error = (token) => value * token.output - token.target;
      const alpha = mean((token) => token.output ** 2);
      const beta = mean((token) => (value * token.output + error(token)) * token.slope) / Math.sqrt(width);
      const gamma = mean((token) => value * error(token) * token.slope) / Math.sqrt(width);
      const zeta =
        mean((token) => (value * token.slope) ** 2 + value * error(token) * token.curvature) / width;
      const p = Math.sqrt(dot(key, key) / 2 + dot(query, query) / 2 + dot(key, query));
      const q = Math.sqrt(Math.max(dot(key, key) / 2 + dot(query, query) / 2 - dot(key, query), 0));
      const three = viete([
        [alpha, beta * p, beta * q],
        [beta * p, gamma + zeta * p * p, zeta * p * q],
        [beta * q, zeta * p * q, -gamma + zeta * q * q],
      ]);
      const bulk = Array.from({ length: width - 1 }, () => [gamma, -gamma]).flat();
      return {
        theorem: ascending([...three, ...bulk]),
        brute: eigenvalues(attentionHessian(query, key, value, tokens, error)),
        labels: [
          ...three.map((root, k) => [root, `outlier ${k + 1}`]),
          ...(width > 1 ? [[gamma, "γ"], [-gamma, "−γ"]] : []),
        ],
        data: { value, query, key, x, y, sink },
      };
    },
  };

  // The output of a token per w_V, and its first two derivatives by the score <w_Q, w_K>/sqrt(d_K).
  function responses(token, row, score, sink) {
    const logits = row.map((other, j) => token * other * score + (j === 0 ? sink : 0));
    const largest = Math.max(...logits);
    const raw = logits.map((logit) => Math.exp(logit - largest));
    const total = raw.reduce((sum, part) => sum + part, 0);
    const weights = raw.map((part) => part / total);
    const output = dot(weights, row);
    const centred = row.map((other) => other - output);
    const variance = weights.reduce((sum, part, j) => sum + part * centred[j] ** 2, 0);
    const skew = weights.reduce((sum, part, j) => sum + part * centred[j] ** 3, 0);
    return { output, slope: token * variance, curvature: token ** 2 * skew };
  }

  // By w_V, w_Q and w_K: products of first derivatives, and errors times second derivatives.
  function attentionHessian(query, key, value, tokens, error) {
    const d = query.length;
    const root = Math.sqrt(d);
    const h = zeros(2 * d + 1);
    // The derivatives of the score by (w_Q, w_K), and the pairs that it is bilinear in.
    const score = [...key, ...query].map((weight) => weight / root);
    for (const token of tokens) {
      const residual = error(token);
      const gradient = [token.output, ...score.map((part) => value * token.slope * part)];
      for (let i = 0; i < h.length; i += 1) {
        for (let j = 0; j < h.length; j += 1) {
          let second = 0;
          if (i > 0 && j > 0) {
            second = value * token.curvature * score[i - 1] * score[j - 1];
            second += Math.abs(i - j) === d ? (value * token.slope) / root : 0;
          } else if (i + j > 0) {
            second = token.slope * score[i + j - 1];
          }
          h[i][j] += (gradient[i] * gradient[j] + residual * second) / tokens.length;
        }
      }
    }
    return h;
  }

  // The roots of the characteristic cubic of a symmetric 3 x 3 matrix, by Viète's cosines; descending.
  function viete(a) {
    const middle = (a[0][0] + a[1][1] + a[2][2]) / 3;
    const b = a.map((row, i) => row.map((entry, j) => entry - (i === j ? middle : 0)));
    const radius = Math.sqrt(b.reduce((sum, row) => sum + dot(row, row), 0) / 6);
    if (radius === 0) {
      return [middle, middle, middle];
    }
    const u = b.map((row) => row.map((entry) => entry / radius));
    const determinant =
      u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) -
      u[0][1] * (u[1][0] * u[2][2] - u[1][2] * u[2][0]) +
      u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
    const angle = Math.acos(Math.min(Math.max(determinant / 2, -1), 1)) / 3;
    return [0, 1, 2].map((k) => middle + 2 * radius * Math.cos(angle - (2 * Math.PI * k) / 3));
  }

  const NETWORKS = { linear, relu, attention };
  let network = "linear";
  let values = {};
  let state = null;
  // The course of training as it follows from the start alone.
  let prediction = null;
  // While it is trained: the weights, and what was seen.
  let course = null;

  function svg(name, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    element.textContent = text;
    return element;
  }

  const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

  function scientific(value) {
    const [digits, power] = value.toExponential(1).split("e");
    const raised = [...power.replace("+", "")].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
    return value === 0 ? "0" : `${digits} × 10${raised.join("")}`;
  }

  // How many of the values before it each one is equal to, up to rounding: these are stacked.
  function heights(sorted, size) {
    let level = 0;
    return sorted.map((value, i) => {
      level = i > 0 && value - sorted[i - 1] <= 1e-6 * size ? level + 1 : 0;
      return level;
    });
  }

  // A drawing is as wide as its place: its letters have the page's size, also on a narrow screen.
  const wide = (element) => Math.max(element.clientWidth, 240);

  function draw(element, height, parts) {
    element.setAttribute("viewBox", `0 0 ${wide(element)} ${height}`);
    element.replaceChildren(...parts);
  }

  const touch = (a, b) =>
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  // Write a text within the drawing; it rises until it is free of what stands there, or is left out.
  function write(element, text, [x, y], taken, rises = true) {
    const node = svg("text", { x, y, "text-anchor": "middle" }, text);
    element.append(node);
    const { y: top, width, height } = node.getBBox();
    const middle = Math.min(Math.max(x, width / 2 + 3), wide(element) - width / 2 - 3);
    const box = { x: middle - width / 2 - 2, y: top, width: width + 4, height };
    const hit = () => taken.some((other) => touch(box, other));
    while (rises && hit()) {
      box.y -= 1;
    }
    if (hit()) {
      node.remove();
      return;
    }
    taken.push(box);
    node.setAttribute("x", middle);
    node.setAttribute("y", y + box.y - top);
    if (top - box.y > 6) {
      element.prepend(svg("line", { class: "axis", x1: x, x2: x, y1: box.y + height, y2: y + 4 }));
    }
  }

  // Names of one value stand together.
  function together(labels, size) {
    const groups = [];
    for (const [value, text] of [...labels].sort((a, b) => a[0] - b[0])) {
      const last = groups.at(-1);
      if (last && value - last[0] <= 1e-6 * size) {
        last[1] += `, ${text}`;
      } else {
        groups.push([value, text]);
      }
    }
    return groups;
  }

  const GROUND = 164;

  function drawSpectrum() {
    const { theorem, brute, labels, cells } = state;
    const element = $("spectrum");
    const ends = [...theorem, ...brute, 0];
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const at = (value) => 30 + ((wide(element) - 60) * (value - low)) / (high - low || 1);
    const size = Math.max(Math.abs(low), Math.abs(high));
    const stacks = [heights(brute, size), heights(theorem, size)];
    const step = Math.min(13, 85 / Math.max(1, ...stacks.flat()));
    const place = (value, level) => ({ cx: at(value), cy: GROUND - step * level });
    draw(element, 210, [
      svg("line", { class: "axis", x1: 10, x2: wide(element) - 10, y1: GROUND + 13, y2: GROUND + 13 }),
      ...brute.map((value, i) => svg("circle", { class: "brute", ...place(value, stacks[0][i]), r: 3 })),
      ...theorem.map((value, i) =>
        svg("circle", { class: `theorem ${cells ? cells[i] : ""}`, ...place(value, stacks[1][i]), r: 6 }),
      ),
    ]);
    const taken = [...element.querySelectorAll("circle")].map((circle) => circle.getBBox());
    for (const [value, text] of together(labels, size)) {
      const same = theorem.filter((other) => Math.abs(other - value) <= 1e-6 * size).length;
      write(element, text, [at(value), GROUND - step * Math.max(same - 1, 0) - 11], taken);
    }
    for (const tick of new Set([0, low, high])) {
      write(element, short(tick), [at(tick), GROUND + 32], taken, false);
    }
  }

  function difference() {
    const size = Math.max(...state.brute.map(Math.abs), Number.MIN_VALUE);
    return Math.max(...state.brute.map((value, i) => Math.abs(value - state.theorem[i]))) / size;
  }

  const HEIGHT = 126;

  // A curve of a drawing of the training: a line, or dots that do not touch.
  function curve(list, right, [low, high], name, dots = false) {
    const width = wide($("course")) - 26;
    const x = (step) => 10 + (width * step) / right;
    const y = (value) => HEIGHT - 10 - ((HEIGHT - 20) * (value - low)) / (high - low || 1);
    const apart = dots ? Math.ceil((7 * right) / width) : 1;
    const at = list.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
    const points = at.filter((_, step) => step % apart === 0 || step === list.length - 1);
    const path = dots ? points.map((point) => `M${point}h0`).join("") : `M${points.join("L")}`;
    return svg("path", { class: name, d: list.length ? path : "" });
  }

  function drawCourse() {
    const seen = course ?? { sharpness: [], loss: [] };
    const { sharpness, loss, flow } = prediction;
    const edge = 2 / values.rate;
    const last = Math.max(sharpness.length, seen.loss.length, 2) - 1;
    // What leaves, leaves the drawing.
    const shown = 1.15 * Math.max(edge, sharpness[0], flow || 0);
    const top = Math.max(shown, Math.min(1.05 * Math.max(...sharpness), 2 * shown));
    const powers = (list) => list.map((value) => Math.log10(Math.max(value, 1e-300)));
    const range = [Math.min(...powers(loss), -1) - 0.2, Math.max(...powers(loss), 1) + 0.2];
    const mark = HEIGHT - 10 - ((HEIGHT - 20) * flow) / top;
    const right = wide($("course")) - 9;
    draw($("course"), HEIGHT, [
      curve([edge, ...Array(last).fill(edge)], last, [0, top], "edge"),
      curve(powers(loss), last, range, "curve loss"),
      curve(sharpness, last, [0, top], "curve"),
      curve(powers(seen.loss), last, range, "seen loss", true),
      curve(seen.sharpness, last, [0, top], "seen", true),
      ...(flow >= 0
        ? [svg("path", { class: "flow", d: `M${right},${mark}l5,-5v10z` })]
        : []),
    ]);
    const steps = seen.loss.length - 1;
    $("step").textContent =
      steps < 0
        ? `2/\u2060η = ${short(edge)}`
        : `step ${steps}: sharpness ${short(seen.sharpness[steps])}, 2/\u2060η = ${short(edge)}, loss ${short(seen.loss[steps])}`;
    if (!course?.timer) {
      $("predicted").textContent = `${said(prediction)} ${apartSaid()}`;
    }
  }

  // The predicted course in words.
  function said({ sharpness, loss, moves, flow }) {
    const steps = sharpness.length - 1;
    const leaves = !(loss[steps] < 1e12);
    const end = leaves
      ? `training diverges within ${steps} steps`
      : `sharpness ${short(sharpness[0])} becomes ${short(sharpness[steps])} in ${steps} steps`;
    const when = `${moves.slice(0, 3).join(", ")}${moves.length > 3 ? " and later" : ""}`;
    const cells = moves.length ? `; units change cell at step ${when}` : "";
    const flowing = flow >= 0 ? `would end at ${short(flow)}` : "would change cells too";
    return `Predicted from the start: ${end}${cells}; gradient flow ${flowing}.`;
  }

  // The largest difference of sharpness or loss from the prediction, relative to it, so far.
  function missed() {
    const of = (name) =>
      course[name].slice(0, prediction[name].length).map((value, step) => {
        const expected = prediction[name][step];
        return Math.abs(value - expected) / Math.max(Math.abs(expected), Number.MIN_VALUE);
      });
    return Math.max(...of("sharpness"), ...of("loss"));
  }

  const apartSaid = () =>
    course ? `The trained network differs from that by ${scientific(missed())} at most.` : "";

  function show() {
    state = NETWORKS[network].state(values, course?.weights);
    drawSpectrum();
    const apart = difference();
    const form = values.printed ? "print" : "theorem";
    const much = apart > 1e-3 ? `${short(100 * apart)} %` : scientific(apart);
    $("form").textContent = form;
    $("agreement").textContent =
      `${state.brute.length} eigenvalues; ${form} and brute force differ by ${much} of the largest.`;
    $("agreement").classList.toggle("off", apart > 1e-6);
    $("training").hidden = !(network in SIDES);
    if (network in SIDES) {
      if (!course) {
        prediction = predict(SIDES[network], state.data, values.rate);
      }
      drawCourse();
    }
  }

  function control([name, label, low, high, step, start]) {
    const row = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: low, max: high, step, value: start, name });
    const output = document.createElement("output");
    const set = () => {
      values[name] = Number(input.value);
      output.textContent = short(values[name]);
    };
    input.addEventListener("input", () => {
      stop();
      set();
      show();
    });
    set();
    row.append(label, output, input);
    return row;
  }

  function choose(name) {
    stop();
    network = name;
    values = { printed: false };
    $("controls").replaceChildren(...NETWORKS[name].controls.map(control));
    // The print of one theorem alone is wrong.
    $("print").hidden = name !== "linear";
    printed.checked = false;
    show();
  }

  // One step of gradient descent on both layers; false where it has ended.
  function step() {
    const [w, v] = course.weights;
    const now = NETWORKS[network].state({ ...values, printed: false }, [w, v]);
    course.sharpness.push(now.brute.at(-1));
    course.loss.push(now.loss);
    if (ended(now.loss, now.slopes) || course.loss.length > LONGEST) {
      return false;
    }
    const descend = (of, along) =>
      of.map((weight, j) => weight - values.rate * now.slopes[j] * along[j]);
    course.weights = [descend(w, v), descend(v, w)];
    return true;
  }

  function train() {
    if (course?.timer) {
      pause();
      return;
    }
    course ??= { weights: state.weights, sharpness: [], loss: [] };
    $("train").textContent = "pause";
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const go = () => {
      course.timer = null;
      let more = step();
      while (still && more) {
        more = step();
      }
      show();
      if (more) {
        course.timer = window.setTimeout(go, 30);
      } else {
        pause();
      }
    };
    go();
  }

  function pause() {
    window.clearTimeout(course.timer);
    course.timer = null;
    $("train").textContent = "train";
  }

  function stop() {
    if (course) {
      pause();
      course = null;
    }
  }

  for (const choice of document.querySelectorAll("[name=playground]")) {
    choice.addEventListener("change", () => choose(choice.value));
  }
  const printed = document.querySelector("[name=printed]");
  printed.addEventListener("change", () => {
    values.printed = printed.checked;
    show();
  });
  $("train").addEventListener("click", train);
  $("back").addEventListener("click", () => {
    stop();
    show();
  });
  $("app").hidden = false;
  choose("linear");
  let before = wide($("spectrum"));
  new ResizeObserver(() => {
    if (wide($("spectrum")) !== before) {
      before = wide($("spectrum"));
      show();
    }
  }).observe($("spectrum"));
  // What is shown, for whoever wants to check it.
  window.playground = { state: () => ({ ...state, difference: difference(), course, prediction }) };
})();
