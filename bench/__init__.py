"""The figures of the product, each beside a yardstick that is measured in the same run."""
