"""Tables of the payment request service."""

SERVICE = """
    -- Applications. After a rotation, until `former_until`, the former webhook secret also signs
    -- and the former application secret, stored as a hash, is also accepted.
    CREATE TABLE apps (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        secret_hash TEXT NOT NULL,
        webhook_secret TEXT NOT NULL,
        former_secret_hash TEXT,
        former_webhook_secret TEXT,
        former_until BIGINT,
        -- 1 if the holders of email addresses that it names must confirm them
        confirms INTEGER NOT NULL DEFAULT 0,
        seller TEXT,  -- the default seller profile of its requests, in JSON
        created_at BIGINT NOT NULL,
        revoked_at BIGINT
    );

    -- Payment requests; a one-off is a request of one unit.
    CREATE TABLE payment_requests (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        owner TEXT NOT NULL DEFAULT '',
        created_at BIGINT NOT NULL,
        name TEXT NOT NULL,
        description TEXT,
        long_description TEXT,
        image_url TEXT,
        instrument_currency TEXT NOT NULL,
        denomination_currency TEXT,
        receivers TEXT NOT NULL,
        amount BIGINT NOT NULL,
        price_before_discount BIGINT,
        requested_user_data TEXT NOT NULL,
        redirect_url TEXT,
        webhook_url TEXT,
        custom_parameters TEXT,
        email TEXT,
        recipient_id TEXT,
        seller TEXT,
        -- the owner of the payout accounts that its receiver names (`account:REF`), null for any
        -- other destination
        payout TEXT,
        webhook_events TEXT,  -- the events that its application asks for, in JSON
        amount_choice TEXT,  -- the amounts that a payer may choose, in JSON
        goal BIGINT,
        max_quantity INTEGER,
        thanks TEXT,
        keep_url TEXT,  -- the address at which a receipt can be kept
        shop TEXT,  -- what a HandCash client says about its shop, in JSON
        delivery TEXT,  -- the goods: `text` (`delivery_text`), `file` (`delivery_file`) or `codes`
        delivery_text TEXT,
        delivery_file TEXT,
        codes_count BIGINT NOT NULL DEFAULT 0,  -- the last unit that has a code
        -- units up to `codes_count` without a code, because their goods were different
        codes_skipped BIGINT NOT NULL DEFAULT 0,
        -- volume_billions, volume_rest: the sum of all payments (core/database/database.py)
        volume_billions BIGINT NOT NULL DEFAULT 0,
        volume_rest BIGINT NOT NULL DEFAULT 0,
        -- raised_billions, raised_rest: the sum that counts towards the `goal`: payments that took
        -- their units and were not paid back
        raised_billions BIGINT NOT NULL DEFAULT 0,
        raised_rest BIGINT NOT NULL DEFAULT 0,
        expiration_type TEXT NOT NULL,
        total_units BIGINT,
        remaining_units BIGINT CHECK (remaining_units >= 0),  -- null if any number may pay
        reserved_units BIGINT NOT NULL DEFAULT 0 CHECK (reserved_units >= 0),
        decreased_units BIGINT NOT NULL DEFAULT 0,
        paid_count BIGINT NOT NULL DEFAULT 0,  -- units sold
        sales_count BIGINT NOT NULL DEFAULT 0,  -- payments that took units
        oversold_count BIGINT NOT NULL DEFAULT 0,  -- payments that took no units
        -- the status that was last seen (see service/requests/request_rows.py)
        stage TEXT NOT NULL DEFAULT 'active',
        enabled_at BIGINT,
        expires_at BIGINT,
        paused INTEGER NOT NULL DEFAULT 0,  -- 1 if an edit ended it immediately
        deleted_at BIGINT
    );
    CREATE INDEX payment_requests_newest ON payment_requests (app_id, created_at, id)
    WHERE deleted_at IS NULL;
    CREATE INDEX payment_requests_staged ON payment_requests (app_id, stage, created_at, id)
    WHERE deleted_at IS NULL;
    -- Times and units decide the status; these four indexes find requests with an outdated stage.
    CREATE INDEX payment_requests_spent ON payment_requests (app_id, id)
    WHERE deleted_at IS NULL AND remaining_units = 0 AND reserved_units = 0
      AND stage NOT IN ('soldOut', 'completed');
    CREATE INDEX payment_requests_ending ON payment_requests (app_id, expires_at)
    WHERE deleted_at IS NULL AND stage IN ('active', 'scheduled') AND expires_at IS NOT NULL;
    CREATE INDEX payment_requests_ended ON payment_requests (app_id, expires_at, id)
    WHERE deleted_at IS NULL AND stage = 'expired';
    CREATE INDEX payment_requests_starting ON payment_requests (app_id, stage, enabled_at)
    WHERE deleted_at IS NULL AND enabled_at IS NOT NULL;

    -- The offered kinds of real money, written at each start; if empty, test money is offered.
    CREATE TABLE offered_rails (kind TEXT PRIMARY KEY);

    -- Payout accounts, which receive the money of a seller's payments. A retired account is kept
    -- while money may still arrive for it.
    CREATE TABLE payout_accounts (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        owner TEXT NOT NULL,
        kind TEXT NOT NULL,
        scheme TEXT NOT NULL DEFAULT '',
        automatic INTEGER NOT NULL,
        currencies TEXT NOT NULL,
        label TEXT NOT NULL,
        details TEXT NOT NULL,  -- the payment details, sealed
        since BIGINT NOT NULL,  -- the time of the first account with this way
        created_at BIGINT NOT NULL,
        retired_at BIGINT
    );
    CREATE UNIQUE INDEX payout_accounts_way ON payout_accounts (app_id, owner, kind, scheme)
    WHERE retired_at IS NULL;
    CREATE INDEX payout_accounts_retired ON payout_accounts (retired_at)
    WHERE retired_at IS NOT NULL;

    -- Prices of one unit of a currency from a source, as decimal text.
    CREATE TABLE exchange_rates (
        source TEXT NOT NULL,
        currency TEXT NOT NULL,
        price TEXT NOT NULL,
        at BIGINT NOT NULL,
        PRIMARY KEY (source, currency)
    );

    -- Checkouts, which are attempts to pay.
    CREATE TABLE checkouts (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        token TEXT NOT NULL,
        state TEXT NOT NULL,
        user_data TEXT NOT NULL,
        quote TEXT,  -- what the payer pays
        network TEXT,  -- a keyed hash of the payer's address, until `counted_until`
        -- the random id in the payer's cookie, while the checkout lasts; null without a cookie
        payer TEXT,
        -- a keyed hash of the IPv6 site of the address, or of an IPv4 address, until
        -- `counted_until`
        site TEXT,
        language TEXT,  -- of the receipt by email, null if no receipt is sent
        created_at BIGINT NOT NULL,
        lapses_at BIGINT NOT NULL,  -- when its units are released
        kind TEXT NOT NULL DEFAULT 'sandbox',
        -- way, account_id: how the money is paid, and the account that receives it
        way TEXT NOT NULL DEFAULT 'sandbox',
        account_id TEXT,
        automatic INTEGER NOT NULL DEFAULT 1,  -- 0 if the seller has to confirm the payment
        host TEXT NOT NULL DEFAULT '',  -- the wallet's host
        external_id TEXT,  -- the invoice's id, unique over all rails; null for immediate test money
        reference TEXT,  -- the reference that payers write on a bank transfer
        -- pay_with, look: the data shown to the payer, and the data for the rail's polls, in JSON
        pay_with TEXT,
        look TEXT,
        failure TEXT,  -- why it could not be opened
        lie TEXT,
        opened_at BIGINT,
        looked_at BIGINT,  -- null if no wallet is asked
        expires_at BIGINT,  -- when its invoice expires
        claimed_at BIGINT,
        claim_lapses_at BIGINT,  -- when its claim lapses, which may be after its units are released
        held INTEGER NOT NULL DEFAULT 1,  -- 0 if its units are released but its claim remains
        -- 0 until it is paid or given up; null if no cap counts it afterwards
        counted_until BIGINT,
        price BIGINT,  -- the price per unit that the payer chose, null for the request's own price
        quantity INTEGER NOT NULL DEFAULT 1,
        -- payer_name, message: the payer's words to the seller
        payer_name TEXT,
        message TEXT,
        UNIQUE (request_id, token)
    );
    -- The states that hold units, and the states in which money may still arrive, are listed in
    -- service/checkouts/checkout.py.
    CREATE INDEX checkouts_open ON checkouts (request_id, lapses_at)
    WHERE (state = 'opening' OR state = 'open' OR state = 'claimed');
    CREATE INDEX checkouts_held ON checkouts (request_id, network, payer)
    WHERE payer IS NOT NULL AND (state = 'opening' OR state = 'open' OR state = 'claimed');
    CREATE INDEX checkouts_site ON checkouts (request_id, site) WHERE site IS NOT NULL;
    CREATE INDEX checkouts_counted ON checkouts (counted_until) WHERE counted_until > 0;
    CREATE INDEX checkouts_waiting ON checkouts (request_id, site, claimed_at)
    WHERE state = 'claimed';
    CREATE INDEX checkouts_claimed ON checkouts (request_id, network)
    WHERE claimed_at IS NOT NULL;
    CREATE INDEX checkouts_given_up ON checkouts (lapses_at)
    WHERE (state = 'lapsed' OR state = 'cancelled' OR state = 'failed' OR state = 'rejected');
    CREATE UNIQUE INDEX checkouts_external ON checkouts (external_id)
    WHERE external_id IS NOT NULL;
    CREATE UNIQUE INDEX checkouts_reference ON checkouts (reference)
    WHERE reference IS NOT NULL;
    CREATE INDEX checkouts_account ON checkouts (account_id, expires_at)
    WHERE account_id IS NOT NULL;

    -- Payments; a checkout can have several.
    CREATE TABLE payments (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        checkout_id TEXT NOT NULL REFERENCES checkouts (id),
        rail TEXT NOT NULL,  -- the kind of money
        external_id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        -- amount, currency, receivers: the requested money
        amount BIGINT NOT NULL,
        currency TEXT NOT NULL,
        receivers TEXT NOT NULL,
        -- instrument_amount, instrument_currency, instrument_shares: the money that the payer paid
        instrument_amount BIGINT NOT NULL,
        instrument_currency TEXT NOT NULL,
        instrument_shares TEXT NOT NULL,
        rate TEXT,  -- the exchange rate between the two currencies, if they differ
        rate_source TEXT,
        rated_at BIGINT,
        user_data TEXT NOT NULL,
        payer TEXT,
        -- numbers the payers of a request who gave their data, on each payer's first payment; the
        -- highest number is their count, even after their data is erased
        payer_number BIGINT,
        completed_at BIGINT NOT NULL,
        quantity INTEGER NOT NULL DEFAULT 1,
        first_unit BIGINT,  -- the number of the payment's first unit, null if it took none
        payer_name TEXT,
        message TEXT,
        -- message_hidden, sent_at, paid_back_at: the seller's marks
        message_hidden INTEGER NOT NULL DEFAULT 0,
        sent_at BIGINT,
        sent_note TEXT,
        paid_back_at BIGINT,
        paid_back_note TEXT
    );
    CREATE INDEX payments_newest ON payments (request_id, completed_at, id);
    CREATE INDEX payments_payers ON payments (request_id, payer) WHERE payer IS NOT NULL;
    CREATE INDEX payments_payer_numbers ON payments (request_id, payer_number)
    WHERE payer_number IS NOT NULL;
    CREATE INDEX payments_units ON payments (request_id, first_unit)
    WHERE first_unit IS NOT NULL;
    CREATE INDEX payments_checkout ON payments (checkout_id);

    -- Calls with an idempotency key.
    CREATE TABLE idempotency (
        app_id TEXT NOT NULL,
        key_digest TEXT NOT NULL,
        call_digest TEXT NOT NULL,
        -- the data for answering a repeated call, such as the id of the created object
        made TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        PRIMARY KEY (app_id, key_digest)
    );
    CREATE INDEX idempotency_oldest ON idempotency (created_at);

    -- Notifications: one for each payment and channel, another when an underpaid payment is raised
    -- or completed, and one for each claim of a checkout. The outbox has their state under the same
    -- id.
    CREATE TABLE deliveries (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        payment_id TEXT,
        checkout_id TEXT,
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        recipient_id TEXT,
        -- the notification whose letter reports this payment, which may be this notification
        letter TEXT,
        created_at BIGINT NOT NULL
    );
    CREATE INDEX deliveries_payment ON deliveries (payment_id, channel);
    CREATE INDEX deliveries_newest ON deliveries (app_id, created_at, id);
    CREATE INDEX deliveries_oldest ON deliveries (created_at, id);
    CREATE INDEX deliveries_request ON deliveries (request_id, created_at, id);
    CREATE INDEX deliveries_checkout ON deliveries (checkout_id) WHERE checkout_id IS NOT NULL;
    CREATE INDEX deliveries_letter ON deliveries (letter) WHERE letter IS NOT NULL;
    CREATE INDEX deliveries_unsent ON deliveries (recipient_id, id)
    WHERE recipient_id IS NOT NULL AND letter IS NULL;

    CREATE TABLE delivery_attempts (
        delivery_id TEXT NOT NULL REFERENCES deliveries (id),
        number INTEGER NOT NULL,
        at BIGINT NOT NULL,
        took BIGINT NOT NULL,
        status INTEGER,
        answer TEXT,
        trouble TEXT,
        PRIMARY KEY (delivery_id, number)
    );

    -- An address that an application names for a seller (`owner`; '' for the application itself).
    CREATE TABLE recipients (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        address TEXT NOT NULL,
        mailbox TEXT NOT NULL,  -- a digest of the address
        state TEXT NOT NULL,
        token TEXT,  -- part of the link that confirms the address
        stop_token TEXT NOT NULL UNIQUE,
        asks INTEGER NOT NULL DEFAULT 0,
        asked_at BIGINT,
        confirmed_at BIGINT,
        ended_at BIGINT,
        created_at BIGINT NOT NULL,
        UNIQUE (app_id, owner, address)
    );
    CREATE UNIQUE INDEX recipients_token ON recipients (token) WHERE token IS NOT NULL;
    CREATE INDEX recipients_mailbox ON recipients (mailbox);

    -- Mailboxes that refuse the letters of one seller, all letters of this server ('' in both
    -- columns), or payers' receipts ('' and 'receipts').
    CREATE TABLE unsubscribed (
        app_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        mailbox TEXT NOT NULL,
        at BIGINT NOT NULL,
        PRIMARY KEY (app_id, owner, mailbox)
    );

    -- Files that payers get, in parts of 256 KiB.
    CREATE TABLE files (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL REFERENCES apps (id),
        owner TEXT NOT NULL DEFAULT '',
        name TEXT NOT NULL,
        media_type TEXT NOT NULL,
        size BIGINT NOT NULL,
        -- 0 while it is uploaded, and again while it is deleted
        complete INTEGER NOT NULL DEFAULT 0,
        expires_at BIGINT,  -- when it is deleted, null while a request or a receipt needs it
        created_at BIGINT NOT NULL
    );
    CREATE INDEX files_owner ON files (app_id, owner);
    CREATE INDEX files_loose ON files (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE file_parts (
        file_id TEXT NOT NULL REFERENCES files (id),
        place INTEGER NOT NULL,
        data BYTEA NOT NULL,
        PRIMARY KEY (file_id, place)
    );

    -- The delivery of a request before an edit, for units up to number `last_unit`; nulls if there
    -- was no delivery. A corrected text or file has no row.
    CREATE TABLE former_deliveries (
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        last_unit BIGINT NOT NULL,
        delivery TEXT,
        delivery_text TEXT,
        delivery_file TEXT,
        PRIMARY KEY (request_id, last_unit)
    );
    CREATE INDEX former_deliveries_file ON former_deliveries (delivery_file)
    WHERE delivery_file IS NOT NULL;

    -- The code of a request's unit number n is the one at place n.
    CREATE TABLE codes (
        request_id TEXT NOT NULL REFERENCES payment_requests (id),
        place BIGINT NOT NULL,
        code TEXT NOT NULL,
        PRIMARY KEY (request_id, place),
        UNIQUE (request_id, code)
    );
    CREATE INDEX payment_requests_file ON payment_requests (delivery_file)
    WHERE delivery_file IS NOT NULL;
    CREATE INDEX payment_requests_codes ON payment_requests (app_id, owner)
    WHERE codes_count > 0;
"""
