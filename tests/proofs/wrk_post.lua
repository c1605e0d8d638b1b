-- For wrk: a create without credentials.
wrk.method = "POST"
wrk.body = '{"product": {"name": "Coffee"}}'
wrk.headers["Content-Type"] = "application/json"
