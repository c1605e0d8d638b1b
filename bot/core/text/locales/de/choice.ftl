# Was nur der eigene Zahlungsdienst des Bots kann: frei wählbare Beträge, Spendenziele, mehrere
# Stück auf einmal, Dankesworte. HTML und Werte wie in chat.ftl.

## The amounts that payers choose from

choice-suggested = { $bounds } · Vorschläge: { $amounts }
button-choose = 💝 Frei wählbar
button-choose-amounts = 💝 Frei wählbar: { $amounts }
ask-amount-choice = Oder lass den Betrag frei wählen: Tippe unten auf den Knopf oder schreib eigene Vorschläge wie <code>{ $several }</code>.
help-choice = Der Betrag kann auch frei wählbar sein: <code>/donation 5/10/20 EUR Kaffee</code> schlägt drei Beträge vor, <code>/donation 3+ EUR Kaffee</code> legt nur den Mindestbetrag fest.
offer-line-choice = 👍 <b>{ $name }</b>. { $amount }. Machen wir einen Zahlungslink daraus.

receivers-scaled = <i>Der Betrag ist frei wählbar, und jeder Anteil wächst oder schrumpft mit.</i>

problem-choice-elsewhere = ⚠ Der Betrag kann hier nicht frei wählbar sein: Der Zahlungsdienst dieses Bots bietet das nicht. Schreib einen festen Preis, zum Beispiel <code>{ $example }</code>.
problem-choice-bare = ⚠ Ist das ein Preis, oder sind es mehrere zur Auswahl? Für einen Preis schreib nur eine Zahl, zum Beispiel <code>{ $example }</code>. Soll der Betrag frei wählbar sein, setz Schrägstriche dazwischen, zum Beispiel <code>{ $several }</code>.
problem-choice-many = ⚠ Das sind { $count } Vorschläge, möglich sind { $most }. Lass welche weg, zum Beispiel so: <code>{ $several }</code>.
problem-choice-twice = ⚠ { $typed } steht zweimal da. Nenne jeden Betrag nur einmal.
problem-choice-low = ⚠ { $typed } liegt unter deinem Mindestbetrag von { $minimum }. Schreib einen höheren Vorschlag oder einen niedrigeren Mindestbetrag.
problem-choice-high = ⚠ { $typed } liegt über deinem Höchstbetrag von { $maximum }. Schreib einen niedrigeren Vorschlag oder einen höheren Höchstbetrag.
problem-choice-range = ⚠ Der zweite Betrag muss größer sein als der erste: { $maximum } ist nicht mehr als { $minimum }. Schreib den kleineren zuerst, zum Beispiel <code>3-500</code>.
problem-choice-mixed = ⚠ Da steht mehr als eine Währung. Nimm für alle Beträge dieselbe, zum Beispiel <code>{ $several }</code>.
problem-choice-unclear = ⚠ „{ $typed }“ ist nicht eindeutig. Schreib die Zahl ohne Tausendertrennzeichen, zum Beispiel <code>1000</code> oder <code>1,50</code>.
line-choice-order = ⚠ Vorschläge stehen vor der Währung, zum Beispiel <code>3+ 5/10/20 EUR</code>.
line-amount-or-choice = ⚠ Ist das ein Preis, oder sind es mehrere zur Auswahl? Schreib <code>{ $example }</code> für einen festen Preis oder <code>{ $several }</code> für einen frei wählbaren Betrag.

## The options

option-goal = Spendenziel
option-perbuyer = Stück pro Kauf
option-thanks = Dankeschön
ask-goal =
    <b>Wie viel soll zusammenkommen?</b>
    Alle sehen, wie viel schon zusammengekommen ist. Auch wenn das Ziel erreicht ist, kann weiter gespendet werden. Schreib <code>{ $example }</code> für { $meant }.
ask-perbuyer =
    <b>Wie viele Stück kann man auf einmal kaufen?</b>
    Normalerweise ist es eins. Schreib eine ganze Zahl bis 100, zum Beispiel <code>5</code>.
ask-thanks =
    <b>Was möchtest du allen sagen, die gezahlt haben?</b>
    Es steht auf ihrem Beleg. Bis zu 500 Zeichen, zum Beispiel <i>Danke! Wir sehen uns am Freitag.</i>
review-goal = Spendenziel: <b>{ $value }</b>
review-perbuyer = Pro Kauf: bis zu <b>{ $value }</b> Stück
review-thanks = Dankeschön: { $value }
perbuyer-one = Pro Kauf gibt es ein Stück.
goal-removed = Dein Spendenziel war in { $currency }, der Preis ist es nicht mehr. Deshalb habe ich das Ziel entfernt. Unter „Mehr Angaben“ kannst du es noch einmal festlegen.

button-edit-goal = Spendenziel
button-edit-perbuyer = Stück pro Kauf
button-edit-thanks = Dankeschön
saved-goal = Spendenziel geändert: { $value }
saved-perbuyer = Pro Kauf gibt es jetzt bis zu { $value } Stück.
saved-thanks = Dankeschön geändert: { $value }
cleared-goal = Spendenziel entfernt.
cleared-perbuyer = Pro Kauf gibt es jetzt ein Stück.
cleared-thanks = Dankeschön entfernt.

problem-goal-currency = ⚠ Der Preis ist in { $currency }, also muss es das Spendenziel auch sein. Schreib einfach nur die Zahl.
problem-perbuyer = ⚠ Ich brauche eine ganze Zahl, zum Beispiel <code>5</code>.
problem-perbuyer-many = ⚠ Das sind zu viele: Pro Kauf sind höchstens { $most } Stück möglich. Schreib eine kleinere Zahl.
problem-thanks-empty = ⚠ Darin finde ich keinen Text. Schreib ein paar Worte für alle, die zahlen.
problem-thanks-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Text.
