; shared 0
; ModuleID = "scan_sum_f32"

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

@"shared" = external addrspace(3) global [0 x i8]

define internal i64 @"scan_sum_f32"(ptr %".1", i64 %".2", i64 %".3") nounwind
{
entry:
  %".38" = alloca float
  %".40" = alloca float
  %".42" = alloca float
  %".44" = alloca float
  %".207" = alloca float
  br label %"start"
start:
  %".5" = getelementptr i64, ptr %".1", i64 0
  %".6" = load i64, ptr %".5"
  %".7" = inttoptr i64 %".6" to ptr
  %".8" = getelementptr i64, ptr %".1", i64 1
  %".9" = load i64, ptr %".8"
  %".10" = inttoptr i64 %".9" to ptr
  %".11" = getelementptr i64, ptr %".1", i64 2
  %".12" = load i64, ptr %".11"
  %".13" = getelementptr i64, ptr %".1", i64 3
  %".14" = load i64, ptr %".13"
  %".15" = getelementptr i64, ptr %".1", i64 4
  %".16" = load i64, ptr %".15"
  %".17" = getelementptr i64, ptr %".1", i64 5
  %".18" = load i64, ptr %".17"
  %".19" = sub i64 %".12", %".16"
  %".20" = icmp sgt i64 %".18", 0
  %".21" = sub i64 %".12", 1
  %".22" = sub i64 %".21", 0
  %".23" = select  i1 %".20", i64 %".22", i64 0
  %".24" = icmp sgt i64 %".12", 0
  %".25" = icmp sgt i64 %".3", %".2"
  %".26" = and i1 %".24", %".25"
  br i1 %".26", label %"start.if", label %"start.endif"
start.if:
  %".28" = icmp eq i64 %".14", 1
  br i1 %".28", label %"start.if.if", label %"start.if.else"
start.endif:
  ret i64 0
start.if.if:
  %".30" = sub i64 %".3", %".2"
  %".31" = sdiv i64 %".30", 4
  %".32" = mul i64 %".31", 4
  %".33" = add i64 %".2", %".32"
  br label %"head"
start.if.else:
  %".262" = sdiv i64 %".2", %".14"
  %".263" = sub i64 %".3", 1
  %".264" = sdiv i64 %".263", %".14"
  %".265" = add i64 %".264", 1
  br label %"head.4"
start.if.endif:
  br label %"start.endif"
head:
  %".35" = phi  i64 [%".2", %"start.if.if"], [%".201", %"after.1"]
  %".36" = icmp slt i64 %".35", %".33"
  br i1 %".36", label %"loop", label %"after"
loop:
  store float              0x0, float* %".38"
  store float              0x0, float* %".40"
  store float              0x0, float* %".42"
  store float              0x0, float* %".44"
  %".46" = add i64 %".35", 0
  %".47" = mul i64 %".46", %".12"
  %".48" = icmp sgt i64 %".16", 0
  br i1 %".48", label %"loop.if", label %"loop.endif"
after:
  br label %"head.2"
loop.if:
  %".50" = add i64 %".47", %".23"
  %".51" = getelementptr inbounds float, ptr %".10", i64 %".50"
  store float              0x0, ptr %".51", align 4
  br label %"loop.endif"
loop.endif:
  %".54" = icmp sgt i64 %".19", 0
  br i1 %".54", label %"loop.endif.if", label %"loop.endif.endif"
loop.endif.if:
  %".56" = add i64 %".47", %".23"
  %".57" = getelementptr inbounds float, ptr %".7", i64 %".56"
  %".58" = load float, ptr %".57", align 4
  store float %".58", float* %".38"
  %".60" = load float, float* %".38"
  %".61" = icmp sgt i64 %".18", 0
  %".62" = sub i64 %".12", 1
  %".63" = sub i64 %".62", %".16"
  %".64" = select  i1 %".61", i64 %".63", i64 %".16"
  %".65" = add i64 %".47", %".64"
  %".66" = getelementptr inbounds float, ptr %".10", i64 %".65"
  store float %".60", ptr %".66", align 4
  br label %"loop.endif.endif"
loop.endif.endif:
  %".69" = add i64 %".35", 1
  %".70" = mul i64 %".69", %".12"
  %".71" = icmp sgt i64 %".16", 0
  br i1 %".71", label %"loop.endif.endif.if", label %"loop.endif.endif.endif"
loop.endif.endif.if:
  %".73" = add i64 %".70", %".23"
  %".74" = getelementptr inbounds float, ptr %".10", i64 %".73"
  store float              0x0, ptr %".74", align 4
  br label %"loop.endif.endif.endif"
loop.endif.endif.endif:
  %".77" = icmp sgt i64 %".19", 0
  br i1 %".77", label %"loop.endif.endif.endif.if", label %"loop.endif.endif.endif.endif"
loop.endif.endif.endif.if:
  %".79" = add i64 %".70", %".23"
  %".80" = getelementptr inbounds float, ptr %".7", i64 %".79"
  %".81" = load float, ptr %".80", align 4
  store float %".81", float* %".40"
  %".83" = load float, float* %".40"
  %".84" = icmp sgt i64 %".18", 0
  %".85" = sub i64 %".12", 1
  %".86" = sub i64 %".85", %".16"
  %".87" = select  i1 %".84", i64 %".86", i64 %".16"
  %".88" = add i64 %".70", %".87"
  %".89" = getelementptr inbounds float, ptr %".10", i64 %".88"
  store float %".83", ptr %".89", align 4
  br label %"loop.endif.endif.endif.endif"
loop.endif.endif.endif.endif:
  %".92" = add i64 %".35", 2
  %".93" = mul i64 %".92", %".12"
  %".94" = icmp sgt i64 %".16", 0
  br i1 %".94", label %"loop.endif.endif.endif.endif.if", label %"loop.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.if:
  %".96" = add i64 %".93", %".23"
  %".97" = getelementptr inbounds float, ptr %".10", i64 %".96"
  store float              0x0, ptr %".97", align 4
  br label %"loop.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif:
  %".100" = icmp sgt i64 %".19", 0
  br i1 %".100", label %"loop.endif.endif.endif.endif.endif.if", label %"loop.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.if:
  %".102" = add i64 %".93", %".23"
  %".103" = getelementptr inbounds float, ptr %".7", i64 %".102"
  %".104" = load float, ptr %".103", align 4
  store float %".104", float* %".42"
  %".106" = load float, float* %".42"
  %".107" = icmp sgt i64 %".18", 0
  %".108" = sub i64 %".12", 1
  %".109" = sub i64 %".108", %".16"
  %".110" = select  i1 %".107", i64 %".109", i64 %".16"
  %".111" = add i64 %".93", %".110"
  %".112" = getelementptr inbounds float, ptr %".10", i64 %".111"
  store float %".106", ptr %".112", align 4
  br label %"loop.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.endif:
  %".115" = add i64 %".35", 3
  %".116" = mul i64 %".115", %".12"
  %".117" = icmp sgt i64 %".16", 0
  br i1 %".117", label %"loop.endif.endif.endif.endif.endif.endif.if", label %"loop.endif.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.endif.if:
  %".119" = add i64 %".116", %".23"
  %".120" = getelementptr inbounds float, ptr %".10", i64 %".119"
  store float              0x0, ptr %".120", align 4
  br label %"loop.endif.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.endif.endif:
  %".123" = icmp sgt i64 %".19", 0
  br i1 %".123", label %"loop.endif.endif.endif.endif.endif.endif.endif.if", label %"loop.endif.endif.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.endif.endif.if:
  %".125" = add i64 %".116", %".23"
  %".126" = getelementptr inbounds float, ptr %".7", i64 %".125"
  %".127" = load float, ptr %".126", align 4
  store float %".127", float* %".44"
  %".129" = load float, float* %".44"
  %".130" = icmp sgt i64 %".18", 0
  %".131" = sub i64 %".12", 1
  %".132" = sub i64 %".131", %".16"
  %".133" = select  i1 %".130", i64 %".132", i64 %".16"
  %".134" = add i64 %".116", %".133"
  %".135" = getelementptr inbounds float, ptr %".10", i64 %".134"
  store float %".129", ptr %".135", align 4
  br label %"loop.endif.endif.endif.endif.endif.endif.endif.endif"
loop.endif.endif.endif.endif.endif.endif.endif.endif:
  br label %"head.1"
head.1:
  %".139" = phi  i64 [1, %"loop.endif.endif.endif.endif.endif.endif.endif.endif"], [%".199", %"loop.1"]
  %".140" = icmp slt i64 %".139", %".19"
  br i1 %".140", label %"loop.1", label %"after.1"
loop.1:
  %".142" = icmp sgt i64 %".18", 0
  %".143" = sub i64 %".12", 1
  %".144" = sub i64 %".143", %".139"
  %".145" = select  i1 %".142", i64 %".144", i64 %".139"
  %".146" = add i64 %".139", %".16"
  %".147" = icmp sgt i64 %".18", 0
  %".148" = sub i64 %".12", 1
  %".149" = sub i64 %".148", %".146"
  %".150" = select  i1 %".147", i64 %".149", i64 %".146"
  %".151" = add i64 %".35", 0
  %".152" = mul i64 %".151", %".12"
  %".153" = load float, float* %".38"
  %".154" = add i64 %".152", %".145"
  %".155" = getelementptr inbounds float, ptr %".7", i64 %".154"
  %".156" = load float, ptr %".155", align 4
  %".157" = fadd float %".153", %".156"
  store float %".157", float* %".38"
  %".159" = load float, float* %".38"
  %".160" = add i64 %".152", %".150"
  %".161" = getelementptr inbounds float, ptr %".10", i64 %".160"
  store float %".159", ptr %".161", align 4
  %".163" = add i64 %".35", 1
  %".164" = mul i64 %".163", %".12"
  %".165" = load float, float* %".40"
  %".166" = add i64 %".164", %".145"
  %".167" = getelementptr inbounds float, ptr %".7", i64 %".166"
  %".168" = load float, ptr %".167", align 4
  %".169" = fadd float %".165", %".168"
  store float %".169", float* %".40"
  %".171" = load float, float* %".40"
  %".172" = add i64 %".164", %".150"
  %".173" = getelementptr inbounds float, ptr %".10", i64 %".172"
  store float %".171", ptr %".173", align 4
  %".175" = add i64 %".35", 2
  %".176" = mul i64 %".175", %".12"
  %".177" = load float, float* %".42"
  %".178" = add i64 %".176", %".145"
  %".179" = getelementptr inbounds float, ptr %".7", i64 %".178"
  %".180" = load float, ptr %".179", align 4
  %".181" = fadd float %".177", %".180"
  store float %".181", float* %".42"
  %".183" = load float, float* %".42"
  %".184" = add i64 %".176", %".150"
  %".185" = getelementptr inbounds float, ptr %".10", i64 %".184"
  store float %".183", ptr %".185", align 4
  %".187" = add i64 %".35", 3
  %".188" = mul i64 %".187", %".12"
  %".189" = load float, float* %".44"
  %".190" = add i64 %".188", %".145"
  %".191" = getelementptr inbounds float, ptr %".7", i64 %".190"
  %".192" = load float, ptr %".191", align 4
  %".193" = fadd float %".189", %".192"
  store float %".193", float* %".44"
  %".195" = load float, float* %".44"
  %".196" = add i64 %".188", %".150"
  %".197" = getelementptr inbounds float, ptr %".10", i64 %".196"
  store float %".195", ptr %".197", align 4
  %".199" = add nsw i64 %".139", 1
  br label %"head.1"
after.1:
  %".201" = add nsw i64 %".35", 4
  br label %"head"
head.2:
  %".204" = phi  i64 [%".33", %"after"], [%".259", %"after.3"]
  %".205" = icmp slt i64 %".204", %".3"
  br i1 %".205", label %"loop.2", label %"after.2"
loop.2:
  store float              0x0, float* %".207"
  %".209" = add i64 %".204", 0
  %".210" = mul i64 %".209", %".12"
  %".211" = icmp sgt i64 %".16", 0
  br i1 %".211", label %"loop.2.if", label %"loop.2.endif"
after.2:
  br label %"start.if.endif"
loop.2.if:
  %".213" = add i64 %".210", %".23"
  %".214" = getelementptr inbounds float, ptr %".10", i64 %".213"
  store float              0x0, ptr %".214", align 4
  br label %"loop.2.endif"
loop.2.endif:
  %".217" = icmp sgt i64 %".19", 0
  br i1 %".217", label %"loop.2.endif.if", label %"loop.2.endif.endif"
loop.2.endif.if:
  %".219" = add i64 %".210", %".23"
  %".220" = getelementptr inbounds float, ptr %".7", i64 %".219"
  %".221" = load float, ptr %".220", align 4
  store float %".221", float* %".207"
  %".223" = load float, float* %".207"
  %".224" = icmp sgt i64 %".18", 0
  %".225" = sub i64 %".12", 1
  %".226" = sub i64 %".225", %".16"
  %".227" = select  i1 %".224", i64 %".226", i64 %".16"
  %".228" = add i64 %".210", %".227"
  %".229" = getelementptr inbounds float, ptr %".10", i64 %".228"
  store float %".223", ptr %".229", align 4
  br label %"loop.2.endif.endif"
loop.2.endif.endif:
  br label %"head.3"
head.3:
  %".233" = phi  i64 [1, %"loop.2.endif.endif"], [%".257", %"loop.3"]
  %".234" = icmp slt i64 %".233", %".19"
  br i1 %".234", label %"loop.3", label %"after.3"
loop.3:
  %".236" = icmp sgt i64 %".18", 0
  %".237" = sub i64 %".12", 1
  %".238" = sub i64 %".237", %".233"
  %".239" = select  i1 %".236", i64 %".238", i64 %".233"
  %".240" = add i64 %".233", %".16"
  %".241" = icmp sgt i64 %".18", 0
  %".242" = sub i64 %".12", 1
  %".243" = sub i64 %".242", %".240"
  %".244" = select  i1 %".241", i64 %".243", i64 %".240"
  %".245" = add i64 %".204", 0
  %".246" = mul i64 %".245", %".12"
  %".247" = load float, float* %".207"
  %".248" = add i64 %".246", %".239"
  %".249" = getelementptr inbounds float, ptr %".7", i64 %".248"
  %".250" = load float, ptr %".249", align 4
  %".251" = fadd float %".247", %".250"
  store float %".251", float* %".207"
  %".253" = load float, float* %".207"
  %".254" = add i64 %".246", %".244"
  %".255" = getelementptr inbounds float, ptr %".10", i64 %".254"
  store float %".253", ptr %".255", align 4
  %".257" = add nsw i64 %".233", 1
  br label %"head.3"
after.3:
  %".259" = add nsw i64 %".204", 1
  br label %"head.2"
head.4:
  %".267" = phi  i64 [%".262", %"start.if.else"], [%".370", %"after.7"]
  %".268" = icmp slt i64 %".267", %".265"
  br i1 %".268", label %"loop.4", label %"after.4"
loop.4:
  %".270" = mul i64 %".267", %".14"
  %".271" = mul i64 %".267", %".12"
  %".272" = mul i64 %".271", %".14"
  %".273" = sub i64 %".2", %".270"
  %".274" = icmp sgt i64 %".273", 0
  %".275" = select  i1 %".274", i64 %".273", i64 0
  %".276" = sub i64 %".3", %".270"
  %".277" = icmp slt i64 %".276", %".14"
  %".278" = select  i1 %".277", i64 %".276", i64 %".14"
  %".279" = icmp sgt i64 %".16", 0
  br i1 %".279", label %"loop.4.if", label %"loop.4.endif"
after.4:
  br label %"start.if.endif"
loop.4.if:
  %".281" = mul i64 %".23", %".14"
  %".282" = add i64 %".272", %".281"
  %".283" = mul i64 %".282", 4
  %".284" = add i64 %".9", %".283"
  %".285" = inttoptr i64 %".284" to ptr
  br label %"head.5"
loop.4.endif:
  %".295" = icmp sgt i64 %".19", 0
  br i1 %".295", label %"loop.4.endif.if", label %"loop.4.endif.endif"
head.5:
  %".287" = phi  i64 [%".275", %"loop.4.if"], [%".292", %"loop.5"]
  %".288" = icmp slt i64 %".287", %".278"
  br i1 %".288", label %"loop.5", label %"after.5"
loop.5:
  %".290" = getelementptr inbounds float, ptr %".285", i64 %".287"
  store float              0x0, ptr %".290", align 4
  %".292" = add nsw i64 %".287", 1
  br label %"head.5"
after.5:
  br label %"loop.4.endif"
loop.4.endif.if:
  %".297" = mul i64 %".23", %".14"
  %".298" = add i64 %".272", %".297"
  %".299" = mul i64 %".298", 4
  %".300" = add i64 %".6", %".299"
  %".301" = inttoptr i64 %".300" to ptr
  %".302" = icmp sgt i64 %".18", 0
  %".303" = sub i64 %".12", 1
  %".304" = sub i64 %".303", %".16"
  %".305" = select  i1 %".302", i64 %".304", i64 %".16"
  %".306" = mul i64 %".305", %".14"
  %".307" = add i64 %".272", %".306"
  %".308" = mul i64 %".307", 4
  %".309" = add i64 %".9", %".308"
  %".310" = inttoptr i64 %".309" to ptr
  br label %"head.6"
loop.4.endif.endif:
  br label %"head.7"
head.6:
  %".312" = phi  i64 [%".275", %"loop.4.endif.if"], [%".319", %"loop.6"]
  %".313" = icmp slt i64 %".312", %".278"
  br i1 %".313", label %"loop.6", label %"after.6"
loop.6:
  %".315" = getelementptr inbounds float, ptr %".301", i64 %".312"
  %".316" = load float, ptr %".315", align 4
  %".317" = getelementptr inbounds float, ptr %".310", i64 %".312"
  store float %".316", ptr %".317", align 4
  %".319" = add nsw i64 %".312", 1
  br label %"head.6"
after.6:
  br label %"loop.4.endif.endif"
head.7:
  %".323" = phi  i64 [1, %"loop.4.endif.endif"], [%".368", %"after.8"]
  %".324" = icmp slt i64 %".323", %".19"
  br i1 %".324", label %"loop.7", label %"after.7"
loop.7:
  %".326" = icmp sgt i64 %".18", 0
  %".327" = sub i64 %".12", 1
  %".328" = sub i64 %".327", %".323"
  %".329" = select  i1 %".326", i64 %".328", i64 %".323"
  %".330" = mul i64 %".329", %".14"
  %".331" = add i64 %".272", %".330"
  %".332" = add i64 %".323", %".16"
  %".333" = sub i64 %".332", 1
  %".334" = icmp sgt i64 %".18", 0
  %".335" = sub i64 %".12", 1
  %".336" = sub i64 %".335", %".333"
  %".337" = select  i1 %".334", i64 %".336", i64 %".333"
  %".338" = mul i64 %".337", %".14"
  %".339" = add i64 %".272", %".338"
  %".340" = mul i64 %".339", 4
  %".341" = add i64 %".9", %".340"
  %".342" = inttoptr i64 %".341" to ptr
  %".343" = add i64 %".323", %".16"
  %".344" = sub i64 %".343", 0
  %".345" = icmp sgt i64 %".18", 0
  %".346" = sub i64 %".12", 1
  %".347" = sub i64 %".346", %".344"
  %".348" = select  i1 %".345", i64 %".347", i64 %".344"
  %".349" = mul i64 %".348", %".14"
  %".350" = add i64 %".272", %".349"
  %".351" = mul i64 %".350", 4
  %".352" = add i64 %".9", %".351"
  %".353" = inttoptr i64 %".352" to ptr
  br label %"head.8"
after.7:
  %".370" = add nsw i64 %".267", 1
  br label %"head.4"
head.8:
  %".355" = phi  i64 [%".275", %"loop.7"], [%".366", %"loop.8"]
  %".356" = icmp slt i64 %".355", %".278"
  br i1 %".356", label %"loop.8", label %"after.8"
loop.8:
  %".358" = getelementptr inbounds float, ptr %".342", i64 %".355"
  %".359" = load float, ptr %".358", align 4
  %".360" = add i64 %".331", %".355"
  %".361" = getelementptr inbounds float, ptr %".7", i64 %".360"
  %".362" = load float, ptr %".361", align 4
  %".363" = fadd float %".359", %".362"
  %".364" = getelementptr inbounds float, ptr %".353", i64 %".355"
  store float %".363", ptr %".364", align 4
  %".366" = add nsw i64 %".355", 1
  br label %"head.8"
after.8:
  %".368" = add nsw i64 %".323", 1
  br label %"head.7"
}


define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8")
{
entry:
  %".14" = alloca i64, i32 6
  br label %"start"
start:
  %".10" = call i64 @"thread"()
  %".11" = call i64 @"threads"()
  %".12" = mul i64 %".1", %".11"
  %".13" = add i64 %".12", %".10"
  %".15" = getelementptr i64, i64* %".14", i64 0
  store i64 %".2", i64* %".15"
  %".17" = getelementptr i64, i64* %".14", i64 1
  store i64 %".3", i64* %".17"
  %".19" = getelementptr i64, i64* %".14", i64 2
  store i64 %".4", i64* %".19"
  %".21" = getelementptr i64, i64* %".14", i64 3
  store i64 %".5", i64* %".21"
  %".23" = getelementptr i64, i64* %".14", i64 4
  store i64 %".6", i64* %".23"
  %".25" = getelementptr i64, i64* %".14", i64 5
  store i64 %".7", i64* %".25"
  %".27" = icmp slt i64 %".13", %".8"
  br i1 %".27", label %"start.if", label %"start.endif"
start.if:
  %".29" = add i64 %".13", 1
  %".30" = call i64 @"scan_sum_f32"(i64* %".14", i64 %".13", i64 %".29")
  br label %"start.endif"
start.endif:
  ret void
}

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7") nounwind
{
entry:
  br label %"start"
start:
  %".9" = call i64 @"threads"()
  %".10" = add i64 %".7", %".9"
  %".11" = sub i64 %".10", 1
  %".12" = call i64 @"threads"()
  %".13" = sdiv i64 %".11", %".12"
  ret i64 %".13"
}
