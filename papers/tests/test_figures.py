"""Figures of experiments."""

import numpy as np
from matplotlib.figure import Figure

from multihop_papers import figures


def test_a_legend_with_long_labels_fits_into_its_figure() -> None:
    for count, length in [(8, 28), (5, 10), (3, 60)]:
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        labels = [f"{number} {'x' * length}" for number in range(count)]
        handles = figure.subplots().plot(np.zeros((2, count)))
        legend = figures.draw_legend(figure, handles, labels)
        assert len(figure.legends) == 1
        assert legend.get_window_extent().width <= figure.bbox.width, (count, length)
        assert [text.get_text() for text in legend.get_texts()] == labels
