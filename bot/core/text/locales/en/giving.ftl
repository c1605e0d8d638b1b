# What payers choose, give and get, on cards and pictures. HTML as in chat.ftl.

card-suggested = Suggested: { $amounts }
card-at-most = Up to { $amount }
card-each = Up to { $most } per purchase
card-gets-text = 🎁 Comes with a message after you pay
card-gets-file = 🎁 Comes with a file to download
card-gets-codes = 🎁 Comes with your own code
poster-scan-choice = Scan and choose your amount
button-pay-choice = Choose amount
