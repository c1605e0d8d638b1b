"""The yardstick process: `python -m bench.bare PORT` is FastAPI and uvicorn with one route."""

import sys

import uvicorn
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
async def answer() -> dict[str, str]:
    return {"status": "ok"}


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
