"""Make the notebooks with their outputs: ``python notebooks/make.py [NAME ...]``, extra notebooks.

Reads each ``NAME.py``, runs it from the top and writes ``NAME.ipynb``. Nothing is kept that changes
from run to run without need: no times, no numbered cells, no random ids.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

import jupytext
import nbclient
from PIL import Image  # comes with matplotlib

HERE = Path(__file__).resolve().parent


def made(source: Path) -> jupytext.jupytext.NotebookNode:
    """The notebook of a script, with its outputs."""
    notebook = jupytext.read(source)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(HERE)}},
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.execution_count = None
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = smaller(output.data["image/png"])
    return notebook


def smaller(picture: str) -> str:
    """A PNG in 64 colours."""
    data = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(64).save(data, "PNG", optimize=True)
    return base64.b64encode(data.getvalue()).decode()


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.py") if path.stem != "make")
    for name in names:
        source = HERE / f"{name}.py"
        jupytext.write(made(source), source.with_suffix(".ipynb"))
        print(source.with_suffix(".ipynb").name)


if __name__ == "__main__":
    main()
