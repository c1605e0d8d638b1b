# The pay page: what payers choose and add, and the goal.

page-goal-label = Spendenziel
page-goal-of = Spendenziel: { $goal }
page-goal-reached = Spendenziel erreicht! Sie können weiterhin spenden.

page-amount = Wie viel möchten Sie zahlen?
page-amount-other = Anderer Betrag
page-amount-from = Ab { $minimum }
page-amount-empty = Bitte wählen Sie einen Betrag oder geben Sie einen ein.
page-amount-unreadable = Das sieht nicht nach einem Betrag aus. Bitte geben Sie eine Zahl ein, zum Beispiel { $price }.
page-amount-currency = Bitte geben Sie den Betrag in { $currency } ein.
page-amount-ambiguous =
    { $readings ->
        [one] Meinen Sie { $reading }? Bitte wählen Sie diesen Betrag oder geben Sie einen anderen ein.
       *[other] Das ist nicht eindeutig. Bitte wählen Sie den Betrag, den Sie meinen, oder geben Sie einen anderen ein.
    }
page-amount-both = Sie haben einen Betrag gewählt und einen anderen eingegeben. Bitte wählen Sie den, den Sie zahlen möchten.
page-amount-low = Der Mindestbetrag ist { $minimum }. Bitte geben Sie diesen oder einen höheren Betrag ein.
page-amount-high =
    { $maximum ->
        [none] Der Betrag ist zu hoch. Bitte geben Sie einen niedrigeren ein.
       *[other] Der Höchstbetrag ist { $maximum }. Bitte geben Sie diesen oder einen niedrigeren Betrag ein.
    }
page-amount-tiny = Für diese Zahlungsart ist der Betrag zu klein. Bitte geben Sie einen höheren ein.
page-amount-decimals =
    { $decimals ->
        [0] Bitte geben Sie eine ganze Zahl ein, ohne Nachkommastellen.
       *[other] Bitte geben Sie höchstens { $decimals } Nachkommastellen ein, zum Beispiel { $price }.
    }
page-amount-fixed = Der Preis ist { $price }. Bitte prüfen Sie ihn, bevor Sie bezahlen.

page-quantity = Wie viele?
page-quantity-each = je { $amount }
page-quantity-chosen = Der Betrag oben gilt pro Stück.
page-quantity-wrong =
    { $most ->
        [one] Sie können nur ein Stück auf einmal kaufen.
       *[other] Sie können 1 bis { $most } Stück auf einmal kaufen.
    }
page-only-left = Nur noch { NUMBER($left) } verfügbar. Bitte prüfen Sie die Anzahl und bezahlen Sie dann.
page-total = Summe: { $amount }

page-words = Name oder Nachricht hinzufügen (freiwillig)
page-name = Ihr Name
page-message = Ihre Nachricht
page-up-to = Höchstens { $limit } Zeichen
page-too-long = Das sind { $count } Zeichen, erlaubt sind { $limit }. Bitte kürzen Sie den Text.
page-words-who = Der Verkäufer liest, was Sie hier schreiben. Wenn Sie anonym bleiben möchten, lassen Sie es leer.

page-exchanged-open = Bezahlt wird in { $currency } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-pay-open = Bezahlen
page-pay-open-test = Mit Testgeld bezahlen
page-message-sent = An den Verkäufer geschickt
