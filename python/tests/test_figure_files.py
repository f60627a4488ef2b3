"""SVG files of figures: small, the same picture, and with colours for dark pages."""

import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from multihop import figure_files, report, theme


def figure() -> Figure:
    with report.drawing():
        made = Figure(figsize=(4, 3))
        axes = made.subplots()
        axes.plot(range(100), [x**0.5 for x in range(100)], color=theme.BLUE, marker="o", label="a < b & c")
        report.bar(axes, 3, 5.0, 1.0, theme.style("tpa-2"))
        axes.legend()
    return made


def test_a_file_is_less_than_half_as_long_and_the_same_each_time() -> None:
    text = figure_files.figure_file(figure())
    assert len(text) < len(report.svg(figure())) / 2
    assert text == figure_files.figure_file(figure())


def test_texts_and_shapes_are_all_there() -> None:
    before, after = (
        ElementTree.fromstring(text) for text in (report.svg(figure()), figure_files.figure_file(figure()))
    )
    for tag in ("text", "use", "path", "pattern", "clipPath"):
        of_tag = [
            ["".join(one.itertext()).strip() for one in root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")]
            for root in (before, after)
        ]
        assert of_tag[0] == of_tag[1], tag
    assert "a < b & c" in "".join(after.itertext())


def test_every_reference_leads_to_an_element() -> None:
    text = figure_files.figure_file(figure())
    wanted = set(re.findall(r'url\(#(\w+)\)|href="#(\w+)"', text))
    assert {one or two for one, two in wanted} <= set(re.findall(r'id="(\w+)"', text))
    assert wanted


def test_dark_pages_have_the_dark_colours_of_the_palette() -> None:
    light, dark = figure_files.figure_file(figure()).split("@media (prefers-color-scheme:dark)")
    assert theme.BLUE in light
    assert theme.DARK[theme.BLUE] not in light
    assert theme.DARK[theme.BLUE] in dark.split("</style>")[0]
    assert theme.BLUE not in dark.split("</style>")[0]
    assert theme.SURFACES[1] in dark
