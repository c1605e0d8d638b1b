# On the pictures of a request: its card, poster and square.

poster-pay = An { $seller } zahlen
