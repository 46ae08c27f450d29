"""Stage prepare: make every data set of conf/data."""

from hessian_papers import labelled
from pipelines.schema import entry, module_of, storage_of
from pipelines.stage import Context, main


def prepare(context: Context) -> None:
    """Write ``results/data/<data set>.nc`` for all data sets, or for the one in ``only``."""
    names = [context.only] if context.only else list(context.config.data.sets)
    storage = storage_of(context.config)
    for name in names:
        config = entry(context.config, "data", name)
        data = module_of("data", config.kind, f"data.sets.{name}").make(config, storage)
        labelled.write(context.results / "data" / f"{name}.nc", data)


if __name__ == "__main__":
    main(prepare, "prepare")
