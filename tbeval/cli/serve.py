"""`tbeval serve`: serve an embedded checkpoint in the foreground."""

import rich_click as click


@click.command("serve")
@click.argument("checkpoint")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
def command(checkpoint: str, port: int) -> None:
    """Serve CHECKPOINT, which must be an embedded one, on 127.0.0.1 until interrupted."""
    from tbeval.models.embedded import serve_foreground
    from tbeval.settings.base import SettingsError
    from tbeval.settings.checkpoints import load_checkpoints

    found = load_checkpoints().get(checkpoint)
    if found.embedded is None:
        raise SettingsError(
            f"checkpoint {checkpoint} is not embedded: its server runs elsewhere. tbeval serves "
            "checkpoints that name a GGUF file (embedded.gguf)."
        )
    serve_foreground(found, port=port)
