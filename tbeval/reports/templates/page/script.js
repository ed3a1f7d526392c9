"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  if (theme) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const now = root.dataset.theme || (dark.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
    });
  }
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numbers = head.dataset.first === "high";
        const before = head.getAttribute("aria-sort");
        const up = before ? before === "descending" : !numbers;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const keyed = [...body.rows].map((row) => [value(row, column), row]);
        keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }
  const tools = document.getElementById("heat-tools");
  if (tools) {
    const table = document.getElementById("heat");
    const [kind, text, scores, said] = ["kind", "text", "scores", "said"].map((id) => document.getElementById("heat-" + id));
    const rows = [...table.tBodies[0].rows];
    const show = () => {
      const wanted = text.value.trim().toLowerCase();
      let number = 0;
      for (const row of rows) {
        const kept = (!kind.value || row.dataset.kinds.split(" ").includes(kind.value)) && row.cells[0].textContent.toLowerCase().includes(wanted);
        row.hidden = !kept;
        number += kept;
      }
      said.textContent = number + " of " + rows.length + " tasks";
    };
    tools.hidden = false;
    kind.addEventListener("change", show);
    text.addEventListener("input", show);
    scores.addEventListener("change", () => table.classList.toggle("scores", scores.checked));
    show();
  }
})();
