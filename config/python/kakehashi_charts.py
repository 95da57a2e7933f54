"""How charts look, before any code draws one. Runs in the parent."""


def prepare():
    """Drawn into files, in a size and with a font that show everything, also Japanese."""
    import matplotlib

    # The list of fonts was made with the environment; nothing here could write another one.
    matplotlib.get_cachedir = lambda: "/python/fonts"
    matplotlib.get_configdir = lambda: "/python/fonts"
    matplotlib.use("Agg")
    import matplotlib_fontja
    import matplotlib.pyplot as plt
    import seaborn

    seaborn.set_theme()
    matplotlib_fontja.japanize()
    rename_fonts()
    plt.rcParams.update({
        "figure.figsize": (8, 5), "figure.dpi": 100, "savefig.dpi": 120, "savefig.bbox": "tight",
        "axes.unicode_minus": False, "figure.max_open_warning": 0,
    })
    # The first figure of a process takes longest.
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1], label="x")
    axes.legend()
    figure.canvas.draw()
    plt.close(figure)


# Fonts that themes and models ask for, of which none is there.
OTHER_FONTS = (
    "Arial", "Helvetica", "Liberation Sans", "Bitstream Vera Sans", "IPAGothic", "IPAPGothic", "IPAexMincho", "Meiryo",
    "MS Gothic", "MS PGothic", "Yu Gothic", "Hiragino Sans", "Hiragino Maru Gothic Pro", "Hiragino Kaku Gothic ProN",
    "Noto Sans CJK JP", "Noto Sans JP", "TakaoGothic", "TakaoPGothic", "VL Gothic", "Japanize-Matplotlib",
)


def rename_fonts():
    """The Japanese font under those names too, so that no theme brings empty boxes back."""
    import dataclasses

    from matplotlib.font_manager import fontManager

    japanese = next(font for font in fontManager.ttflist if font.name == "IPAexGothic")
    fontManager.ttflist += [dataclasses.replace(japanese, name=name) for name in OTHER_FONTS]
