# The card's menu, a payment's number, and how a seller finds a payment. As in chat.ftl.

button-more = ⋯ More
