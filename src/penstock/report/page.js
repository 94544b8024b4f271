"use strict";
// Draws the figures in the colours of the page, lets readers choose views, and filters the table of decisions.
(() => {
  const charts = new Map();
  for (const script of document.querySelectorAll("script[data-chart]")) {
    charts.set(script.dataset.chart, { figure: JSON.parse(script.textContent), view: 0 });
  }

  // "var(--hit)" anywhere in a figure becomes the colour that the style sheet has for it now.
  function coloured(value, style) {
    if (typeof value === "string") {
      return value.startsWith("var(--") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((each) => coloured(each, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each, style)]));
  }

  function template(style) {
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = {
      gridcolor: colour("--line"), linecolor: colour("--faint"), zeroline: false, automargin: true,
      ticks: "outside", ticklen: 4, tickcolor: colour("--faint"), title: { standoff: 10, font: { size: 13 } },
      spikecolor: colour("--faint"), spikethickness: 1, spikedash: "dot",
    };
    return {
      layout: {
        font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: colour("--ink") },
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", xaxis: axis, yaxis: axis,
        hoverlabel: {
          bgcolor: colour("--panel"), bordercolor: colour("--faint"), align: "left", namelength: -1,
          font: { family: getComputedStyle(document.body).fontFamily, color: colour("--ink"), size: 12.5 },
        },
        legend: { orientation: "h", font: { size: 12.5 } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--faint"), activecolor: colour("--ink") },
      },
    };
  }

  const options = {
    responsive: true, displaylogo: false,
    // Plotly would offer to share a chart through its own servers.
    showSendToCloud: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
  };

  async function draw(name) {
    const chart = charts.get(name);
    const style = getComputedStyle(document.documentElement);
    const { data, layout, views } = coloured(chart.figure, style);
    const place = document.getElementById(name);
    // Kept over a change of colours: where the reader has zoomed to.
    await Plotly.react(place, data, { ...layout, template: template(style), uirevision: "kept" }, options);
    const view = views[chart.view];
    if (view && chart.view > 0) await Plotly.update(place, view.restyle, view.relayout, view.traces ?? undefined);
  }

  function drawAll() {
    return Promise.all([...charts.keys()].map(draw));
  }

  for (const group of document.querySelectorAll(".views")) {
    const name = group.dataset.for;
    group.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const chart = charts.get(name);
      chart.view = Number(button.dataset.view);
      for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
      const style = getComputedStyle(document.documentElement);
      const view = coloured(chart.figure.views[chart.view], style);
      Plotly.update(document.getElementById(name), view.restyle, view.relayout, view.traces ?? undefined);
    });
  }

  // A table with a search box above it.
  const box = document.getElementById("search");
  const table = document.getElementById("decisions-table");
  if (box && table) {
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const found = document.getElementById("found");
    const filter = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        const fits = words.every((word) => text.includes(word));
        row.hidden = !fits;
        shown += fits;
      }
      found.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    };
    box.addEventListener("input", filter);
    filter();
  }

  // A click on a batch goes to its decision.
  function goToDecision(event) {
    const batch = event.points[0]?.customdata;
    const row = batch === undefined ? null : document.querySelector(`tr[data-at="${batch}"]`);
    if (!row) return;
    if (row.hidden) {
      box.value = "";
      box.dispatchEvent(new Event("input"));
    }
    for (const each of document.querySelectorAll("tr.chosen")) each.classList.remove("chosen");
    row.classList.add("chosen");
    row.scrollIntoView({ block: "center" });
  }

  drawAll().then(() => document.getElementById("timeline")?.on("plotly_click", goToDecision));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("print");
    drawAll();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("print");
    drawAll();
  });
})();
