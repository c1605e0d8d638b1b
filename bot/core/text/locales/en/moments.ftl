### Times: how they are said, and what was wrong with one

moment-spelled = { $date }, { $time }, { $zone }
moment-place = { $place } time
moment-in-days =
    { $count ->
        [one] in { $count } day
       *[other] in { $count } days
    }
moment-in-hours = in { $hours } h
moment-in-minutes = in { $minutes } min
moment-in-both = in { $hours } h { $minutes } min

problem-moment = ⚠ I couldn't find a time in that. Try <code>tomorrow 18:00</code>, <code>in 2 h</code>, <code>Friday 6 pm</code> or <code>31 Dec 23:59</code>.
problem-moment-past = ⚠ That's in the past: { $moment }. Type a time in the future, like <code>tomorrow 18:00</code> or <code>in 2 h</code>.
problem-moment-far = ⚠ That's too far ahead: the limit is 3,650 days. Type an earlier day, like <code>31 Dec</code> or <code>in 3 days</code>.
problem-moment-date = ⚠ That date doesn't exist. Try <code>31 Dec 18:00</code> or <code>2 weeks</code>.
problem-moment-weekday = ⚠ That date falls on a different day of the week. Type only the date or only the day, like <code>31 Dec</code> or <code>Friday</code>.
problem-moment-gap = ⚠ The clocks go forward then and skip that time. Type a time an hour earlier or later, like <code>tomorrow 18:00</code>.
problem-clock = ⚠ I couldn't find a single time of day in that. Try <code>20:00</code> or <code>8 pm</code>.
problem-hours = ⚠ I couldn't find a start and an end in that. Try <code>22:00-7:30</code> or <code>10 pm to 7 am</code>.
problem-zone = ⚠ I don't recognise that time zone. Type a big city near you, a country or an offset from UTC, like <code>Berlin</code>, <code>New York</code> or <code>UTC+2</code>.
problem-zone-minutes = ⚠ I only understand UTC offsets in whole hours. Type a big city near you instead, like <code>Kolkata</code> or <code>Kathmandu</code>.
