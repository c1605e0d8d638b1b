"""`python -m bot`: see bot/cli/."""

from bot.core.lasting import lasting

with lasting():
    from bot.cli.commands import main

if __name__ == "__main__":
    main()
