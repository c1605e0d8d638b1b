"""Tables of the chat."""

CHAT = """
    -- Sellers.
    CREATE TABLE sellers (
        id BIGINT PRIMARY KEY,
        language TEXT NOT NULL,
        destination TEXT,
        -- 1 once a seller without a payout account chose to connect one later
        pays_later INTEGER NOT NULL DEFAULT 0,
        currency TEXT,
        zone TEXT,
        prices TEXT NOT NULL DEFAULT '[]',  -- the most recent prices, as JSON
        -- quiet, summary: quiet hours (from-to) and the time of the daily summary, in minutes of
        -- the day in the seller's `zone`
        quiet TEXT,
        summary INTEGER,
        summary_at BIGINT,  -- when the next summary is due
        -- name … accent: the profile, which payers see
        name TEXT,
        image TEXT,
        about TEXT,
        contact TEXT,
        accent TEXT,
        profile_version BIGINT NOT NULL DEFAULT 0,  -- counts changes of the profile
        profile_offered_at BIGINT,  -- when the seller was asked, once, for a profile
        greeted_at BIGINT,
        album TEXT,  -- the last photo album that was answered, with a `+` if it had a caption
        created_at BIGINT NOT NULL
    );
    CREATE INDEX sellers_summary ON sellers (summary_at) WHERE summary_at IS NOT NULL;

    -- Sellers' payout accounts as the service last listed them, by `place`; the service has the
    -- details.
    CREATE TABLE seller_accounts (
        seller_id BIGINT NOT NULL,
        place INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        scheme TEXT NOT NULL,
        automatic INTEGER NOT NULL,
        currencies TEXT NOT NULL,
        label TEXT NOT NULL,
        PRIMARY KEY (seller_id, place)
    );

    -- Forms that are being filled in.
    CREATE TABLE drafts (
        chat_id BIGINT NOT NULL,
        seller_id BIGINT NOT NULL,
        body TEXT NOT NULL,
        question BIGINT,  -- the message_id of the current question
        updated_at BIGINT NOT NULL,
        PRIMARY KEY (chat_id, seller_id)
    );

    -- Payment links as their sellers know them.
    CREATE TABLE listings (
        id TEXT PRIMARY KEY,
        seller_id BIGINT NOT NULL,
        chat_id BIGINT NOT NULL,
        token TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        wish TEXT NOT NULL,  -- the specification of the request
        folded_name TEXT NOT NULL DEFAULT '',  -- casefolded, which SQL can't do
        request_id TEXT UNIQUE,
        answer TEXT,  -- the service's last answer
        alerts TEXT NOT NULL DEFAULT 'on',
        poster_text TEXT,
        due_at BIGINT,  -- when time alone changes the link's cards
        delivered_count BIGINT NOT NULL DEFAULT 0,  -- payments whose alert was delivered
        muted_count BIGINT NOT NULL DEFAULT 0,  -- payments that came while alerts were off
        summed_up INTEGER NOT NULL DEFAULT 0,  -- 1 once the summary at the end of a drop was sent
        file_id TEXT,  -- Telegram's id of the picture for `file_key`
        file_key TEXT,
        created_at BIGINT NOT NULL
    );
    CREATE INDEX listings_newest ON listings (seller_id, created_at, id);
    CREATE INDEX listings_standing ON listings (seller_id, created_at, id)
    WHERE state IN ('live', 'stopped');
    CREATE INDEX listings_due ON listings (due_at) WHERE due_at IS NOT NULL;

    -- Payments that the chat has recorded.
    CREATE TABLE received_payments (
        request_id TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        listing_id TEXT NOT NULL REFERENCES listings (id),
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        body TEXT NOT NULL,
        oversold INTEGER NOT NULL DEFAULT 0,
        underpaid INTEGER NOT NULL DEFAULT 0,
        -- 1 if the reconciler found it, 2 if its webhook replaced a placeholder, 0 otherwise
        found INTEGER NOT NULL DEFAULT 0,
        received_at BIGINT NOT NULL,
        seller_id BIGINT,
        number TEXT,  -- the transaction's number, folded for searches; NULL for a placeholder
        number_reversed TEXT,  -- the number backwards
        paid_by TEXT,  -- how it was paid, in JSON, if known from the service
        checkout_id TEXT,
        reference TEXT,  -- the reference of the bank transfer, folded
        paid_back_at BIGINT,  -- when the seller paid it back, according to the seller
        paid_back_note TEXT,
        short_at BIGINT,  -- the `received_at` of the underpaid record that it replaced
        quantity INTEGER NOT NULL DEFAULT 1,
        -- payer_name, message: the payer's words
        payer_name TEXT,
        message TEXT,
        message_hidden INTEGER NOT NULL DEFAULT 0,  -- 1 once the seller has hidden them
        sent_at BIGINT,
        sent_note TEXT,
        -- the message_id of the alert that shows the payer's words (sent_alerts)
        alerted_in BIGINT,
        -- sent_told, paid_back_told: 1 once the seller was informed who is notified of these marks
        sent_told INTEGER NOT NULL DEFAULT 0,
        paid_back_told INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (request_id, transaction_id)
    );
    CREATE INDEX received_payments_listing ON received_payments (listing_id, received_at);
    CREATE INDEX received_payments_short ON received_payments (listing_id, short_at)
    WHERE short_at IS NOT NULL;
    CREATE INDEX received_payments_number ON received_payments (seller_id, number)
    WHERE number IS NOT NULL;
    CREATE INDEX received_payments_number_reversed
    ON received_payments (seller_id, number_reversed) WHERE number_reversed IS NOT NULL;
    CREATE INDEX received_payments_reference ON received_payments (seller_id, reference)
    WHERE reference IS NOT NULL;
    CREATE INDEX received_payments_checkout ON received_payments (checkout_id)
    WHERE checkout_id IS NOT NULL;
    CREATE INDEX received_payments_seller ON received_payments (seller_id, received_at);

    -- Claims: payers say that they have sent the money, and the seller confirms it. Also underpaid
    -- payments, which the seller may accept as a sale.
    CREATE TABLE claims (
        id TEXT PRIMARY KEY,
        checkout_id TEXT NOT NULL UNIQUE,
        request_id TEXT NOT NULL,
        listing_id TEXT NOT NULL REFERENCES listings (id),
        seller_id BIGINT NOT NULL,
        kind TEXT NOT NULL,
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        reference TEXT,
        folded TEXT,  -- the reference, folded for searches
        state TEXT NOT NULL,
        -- time of the newest claim, because a lapsed checkout can be claimed again
        claimed_at BIGINT NOT NULL,
        lapses_at BIGINT NOT NULL,
        message_id BIGINT,  -- the claim's own message
        answered_in BIGINT,  -- the message in which its button was last pressed
        reminders INTEGER NOT NULL DEFAULT 0,  -- the number of reminders sent
        remind_at BIGINT,  -- when the next reminder is due
        unproven INTEGER NOT NULL DEFAULT 1,  -- claims of this request from the payer's network
        -- 1 if it has its own message, 0 if it is in its link's digest
        alone INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX claims_waiting ON claims (seller_id, claimed_at) WHERE state = 'waiting';
    CREATE INDEX claims_together ON claims (listing_id) WHERE state = 'waiting' AND alone = 0;
    CREATE INDEX claims_reference ON claims (seller_id, folded) WHERE folded IS NOT NULL;
    CREATE INDEX claims_due ON claims (remind_at) WHERE state = 'waiting';

    -- The digest of the claims of a link that don't have their own message.
    CREATE TABLE claim_digests (
        listing_id TEXT PRIMARY KEY REFERENCES listings (id),
        message_id BIGINT,  -- the message that shows the digest
        sounded_at BIGINT,  -- when it was last sent as a new message
        due_at BIGINT,  -- when it will next be sent as a new message
        -- sending, editing: the queued messages that send and edit it
        sending TEXT,
        editing TEXT
    );
    CREATE INDEX claim_digests_due ON claim_digests (due_at) WHERE due_at IS NOT NULL;

    -- Receipts that payers keep in Telegram, each in one account, as last fetched.
    CREATE TABLE kept_receipts (
        request_id TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        id TEXT NOT NULL UNIQUE,  -- identifies the receipt in buttons
        account_id BIGINT NOT NULL,
        language TEXT NOT NULL,
        kept_at BIGINT NOT NULL,
        name TEXT NOT NULL,
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        status TEXT NOT NULL,
        sent INTEGER NOT NULL DEFAULT 0,  -- 1 once the seller has sent the goods
        awaited BIGINT,  -- the last unit whose code has not arrived yet
        PRIMARY KEY (request_id, transaction_id)
    );
    CREATE INDEX kept_receipts_account ON kept_receipts (account_id, kept_at, id);
    CREATE INDEX kept_receipts_awaited ON kept_receipts (request_id, awaited)
    WHERE awaited IS NOT NULL;

    -- Gaps that the reconciler saw: units of a link (`sold` in total) were gone without a payment.
    -- They count as sold if they are still gone after a while.
    CREATE TABLE sightings (
        listing_id TEXT PRIMARY KEY REFERENCES listings (id),
        sold BIGINT NOT NULL,
        seen_at BIGINT NOT NULL
    );

    -- Links for which the service counts more payments than it lists: they are searched again when
    -- either number changes, or after an hour.
    CREATE TABLE payment_gaps (
        listing_id TEXT PRIMARY KEY REFERENCES listings (id),
        counted BIGINT NOT NULL,
        recorded BIGINT NOT NULL,
        searched_at BIGINT NOT NULL
    );

    -- Accidental copies of requests that were paid and have been reported in the operator's log.
    CREATE TABLE paid_doubles (
        request_id TEXT PRIMARY KEY,
        listing_id TEXT NOT NULL REFERENCES listings (id)
    );

    -- The sums of a link's payments, for alerts and cards.
    CREATE TABLE takings (
        listing_id TEXT NOT NULL REFERENCES listings (id),
        currency TEXT NOT NULL,
        -- as in chat/store/payment_rows.py: oversold, underpaid and paid-back payments are not
        -- earned, and have sums of their own
        settlement INTEGER NOT NULL DEFAULT 0,
        payments BIGINT NOT NULL,
        -- the quantity sold, one per payment unless a payer took several
        pieces BIGINT NOT NULL DEFAULT 0,
        -- billions, rest: parts of the sum in minor units (core/database/database.py)
        billions BIGINT NOT NULL DEFAULT 0,
        rest BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (listing_id, currency, settlement)
    );

    -- Messages that show a payment link.
    CREATE TABLE posts (
        id TEXT PRIMARY KEY,
        listing_id TEXT NOT NULL REFERENCES listings (id),
        lane TEXT NOT NULL,
        message_id BIGINT NOT NULL,  -- 0 for an inline message, whose id is in its lane
        -- 1 in the seller's chat, 2 in the chat of somebody who followed the link, 0 for an inline
        -- message
        own INTEGER NOT NULL,
        -- picture, shown, menu: its current content
        picture TEXT,
        shown TEXT,
        menu TEXT,
        waiting TEXT,  -- the queued message that will change it
        -- refused, refusals: the picture that Telegram refused, and how often
        refused TEXT,
        refusals INTEGER NOT NULL DEFAULT 0,
        retry_at BIGINT,  -- when the picture is sent again
        created_at BIGINT NOT NULL,
        UNIQUE (lane, message_id)
    );
    CREATE INDEX posts_retried ON posts (retry_at) WHERE retry_at IS NOT NULL;
    CREATE INDEX posts_listing ON posts (listing_id, own, lane);

    -- The text keys of messages with buttons: Telegram refuses an edit that changes nothing.
    CREATE TABLE shown_texts (
        lane TEXT NOT NULL,
        message_id BIGINT NOT NULL,
        text_key TEXT NOT NULL,
        shown_at BIGINT NOT NULL,
        PRIMARY KEY (lane, message_id)
    );
    CREATE INDEX shown_texts_oldest ON shown_texts (shown_at);

    -- Alerts that show payers' words, as queued: they are edited when the words are hidden.
    CREATE TABLE sent_alerts (
        lane TEXT NOT NULL,
        message_id BIGINT NOT NULL,
        body TEXT NOT NULL,
        sent_at BIGINT NOT NULL,
        PRIMARY KEY (lane, message_id)
    );
    CREATE INDEX sent_alerts_oldest ON sent_alerts (sent_at);

    -- Sellers' pictures, as JPEG.
    CREATE TABLE images (
        id TEXT PRIMARY KEY,
        seller_id BIGINT NOT NULL,
        data BYTEA NOT NULL,
        -- 1 once a request uses it; otherwise it is deleted with its draft
        kept INTEGER NOT NULL DEFAULT 0,
        created_at BIGINT NOT NULL
    );
    CREATE INDEX images_loose ON images (created_at) WHERE kept = 0;

    -- The dialect of each payment service, by PAYMENTS_URL, unless it is the default (the first in
    -- chat/payments/create_attempt.py).
    CREATE TABLE dialects (server TEXT PRIMARY KEY, name TEXT NOT NULL);

    -- Payment services that refused the `seller` of a request: it is omitted for a while.
    CREATE TABLE seller_refusals (server TEXT PRIMARY KEY, refused_at BIGINT NOT NULL);

    -- Sellers who were warned that this service's prices aren't checked.
    CREATE TABLE unchecked_prices (
        server TEXT NOT NULL,
        seller_id BIGINT NOT NULL,
        PRIMARY KEY (server, seller_id)
    );
"""
