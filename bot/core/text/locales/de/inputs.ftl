# Was Leute schreiben: eine Zeile ohne Befehl, wohin das Geld geht, leere Antworten. Wie in chat.ftl.

offer-line = 👍 <b>{ $name }</b> für <b>{ $amount }</b>. Machen wir einen Zahlungslink daraus.
offer-line-unclear = 👍 <b>{ $name }</b>. Machen wir einen Zahlungslink daraus.

destination-test = Dieser Bot läuft im Testmodus, es fließt also kein echtes Geld. Schreib irgendeine Adresse, zum Beispiel <code>$anna</code>.
destination-handcash = Schreib dein HandCash-Handle, zum Beispiel <code>$anna</code>. Zahlungen gehen direkt dorthin, prüfe es also bitte genau.
destination-other = Schreib deine Empfangsadresse bei <b>{ $host }</b>, zum Beispiel <code>$anna</code>. Zahlungen gehen direkt dorthin, prüfe sie also bitte genau.
destination-kept = Ich merke sie mir fürs nächste Mal. Ändern kannst du sie unter /settings.
destination-later = Deine bisherigen Zahlungslinks behalten die alte Empfangsadresse.

problem-amount-empty = ⚠ Hier fehlt ein Betrag. Schreib eine Zahl und eine Währung, zum Beispiel <code>{ $example }</code>.
problem-currency-empty = ⚠ Hier fehlt eine Währung. Wähle unten eine aus oder schreib ihr Kürzel, zum Beispiel <code>SEK</code>.
problem-units-empty = ⚠ Hier fehlt eine Stückzahl, zum Beispiel <code>100</code>.
problem-redirect-empty = ⚠ Hier fehlt eine Webadresse, zum Beispiel <code>https://example.org/danke</code>.
problem-email-empty = ⚠ Hier fehlt eine E-Mail-Adresse, zum Beispiel <code>anna@example.org</code>.
problem-destination-handcash = ⚠ Das ist kein HandCash-Handle. Es sieht aus wie <code>$anna</code>: Buchstaben, Ziffern, Punkte, Binde- und Unterstriche. Eine Paymail wie <code>anna@handcash.io</code> geht auch.
line-amount-spaced = ⚠ Schreib den Betrag ohne Leerzeichen, zum Beispiel <code>{ $example }</code>.
line-amount-grouped = ⚠ Meinst du { $meant }? Dann schreib <code>{ $example }</code>.
