"""`python -m bot`: see bot/cli/."""

import gc

gc.disable()  # imports create lasting objects: collecting among them takes a tenth of the start
from bot.cli.commands import main  # noqa: E402 - after gc.disable()

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
