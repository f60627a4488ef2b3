// Values at the cursor, and filters of tables. All values are in the tables: without this script none is missing.

for (const plot of document.querySelectorAll(".plot")) {
  const table = document.getElementById(plot.dataset.values);
  const names = Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent);
  const rows = Array.from(table.tBodies[0].rows);
  const cursor = plot.querySelector(".cursor");
  const output = plot.parentElement.querySelector(".reading");
  let shown = -1;

  const show = (place) => {
    shown = Math.min(rows.length - 1, Math.max(0, place));
    const row = rows[shown];
    if (row === undefined) {
      return;
    }
    const x = `${row.dataset.x / 10}%`;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    plot.classList.add("read");
    const values = Array.from(row.cells, (cell, column) => (cell.textContent === "" ? "" : `${names[column]} ${cell.textContent}`.trim()));
    output.textContent = values.filter((value) => value !== "").join(" · ");
  };

  plot.addEventListener("pointermove", (event) => {
    const { left, top, width } = plot.getBoundingClientRect();
    const far = ({ dataset }) => {
      const across = (dataset.x / 1000) * width - (event.clientX - left);
      return Math.hypot(across, dataset.y === undefined ? 0 : (dataset.y - (event.clientY - top)) / 4);
    };
    const distances = rows.map(far);
    show(distances.indexOf(Math.min(...distances)));
  });
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: shown + 1, ArrowLeft: shown - 1, Home: 0, End: rows.length }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      show(step);
    }
  });
}

for (const form of document.querySelectorAll(".filter")) {
  const rows = Array.from(document.getElementById(form.dataset.table).tBodies[0].rows);
  const [search, verdict] = [form.querySelector("input"), form.querySelector("select")];
  const output = form.querySelector("output");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const badge = row.querySelector(".badge")?.textContent;
      row.hidden = !words.every((word) => text.includes(word)) || (verdict?.value && badge !== verdict.value);
    }
    output.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
}
