# What people type: a plain line, where sellers are paid, and questions left empty. As in chat.ftl.

offer-line = 👍 <b>{ $name }</b> for <b>{ $amount }</b>. Let's turn it into a payment link.
offer-line-unclear = 👍 <b>{ $name }</b>. Let's turn it into a payment link.

destination-test = This bot is in test mode, so no real money moves. Type any handle, like <code>$anna</code>.
destination-handcash = Type your HandCash handle, like <code>$anna</code>. Payments go straight to it, so please double-check it.
destination-other = Type your handle or wallet address at <b>{ $host }</b>, like <code>$anna</code>. Payments go straight to it, so please double-check it.
destination-kept = I'll remember it for next time, and you can change it in /settings.
destination-later = The payment links you already have keep their old address.

problem-amount-empty = ⚠ I need an amount. Type a number and a currency, like <code>{ $example }</code>.
problem-currency-empty = ⚠ I need a currency. Choose one below or type its code, like <code>SEK</code>.
problem-units-empty = ⚠ I need a number of items, like <code>100</code>.
problem-redirect-empty = ⚠ I need a web address, like <code>https://example.org/thanks</code>.
problem-email-empty = ⚠ I need an email address, like <code>anna@example.org</code>.
problem-destination-handcash = ⚠ That isn't a HandCash handle. Handles look like <code>$anna</code>: letters, digits, dots, hyphens and underscores. A paymail like <code>anna@handcash.io</code> works too.
line-amount-spaced = ⚠ Type the amount without spaces, like <code>{ $example }</code>.
line-amount-grouped = ⚠ Did you mean { $meant }? Then type <code>{ $example }</code>.
