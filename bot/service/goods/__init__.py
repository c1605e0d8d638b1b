"""Goods that payers get after payment: files, codes by unit number, and who may see them."""
