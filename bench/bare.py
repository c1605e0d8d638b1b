"""The yardstick process: `python -m bench.bare PORT` is FastAPI and uvicorn with two routes."""

import sys
from decimal import Decimal
from typing import Literal

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field

app = FastAPI()


class Product(BaseModel):
    """What a create says of the product."""

    name: str = Field(min_length=1, max_length=100)
    description: str | None = Field(default=None, max_length=500)


class Receiver(BaseModel):
    """Who gets how much."""

    sendAmount: Decimal = Field(gt=0)  # noqa: N815 - its name in the interface
    destination: str = Field(min_length=1, max_length=512)


class Body(BaseModel):
    """The fields that the bench's create has."""

    product: Product
    instrumentCurrencyCode: str = Field(min_length=3, max_length=4)  # noqa: N815 - its name in the interface
    receivers: list[Receiver] = Field(min_length=1, max_length=100)
    expirationType: Literal["limit", "never", "onPaymentCompleted"]  # noqa: N815 - its name in the interface
    totalUnits: int | None = Field(default=None, ge=1)  # noqa: N815 - its name in the interface


@app.get("/")
async def answer() -> dict[str, str]:
    """Answer with almost nothing."""
    return {"status": "ok"}


@app.post("/")
async def take(body: Body) -> dict[str, str]:
    """Validate, and give something of it back."""
    return {"name": body.product.name}


if __name__ == "__main__":
    port = int(sys.argv[1])
    uvicorn.run(app, port=port, http="httptools", log_level="warning", access_log=False)
