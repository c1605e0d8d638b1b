"""`python -m bot`: see bot/cli/."""

from bot.core import gc_frozen

with gc_frozen.gc_frozen():
    from bot.cli.commands import main

if __name__ == "__main__":
    main()
