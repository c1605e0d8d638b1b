"""Lightning's own formats: invoices, the answers of LNURL services, Lightning addresses: pure."""
