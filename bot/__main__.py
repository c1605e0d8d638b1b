"""`python -m bot`: see bot/cli.py."""

from bot.cli import main

if __name__ == "__main__":
    main()
