"""`python -m bot`: see bot/cli/."""

import gc

gc.disable()  # what imports make stays: looking through it again and again is a tenth of the start
from bot.cli.commands import main  # noqa: E402 - only now that nobody looks

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
